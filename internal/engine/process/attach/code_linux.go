//go:build amd64 || arm64

package attach

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"github.com/leakgate/leakgate/internal/procfs"
)

// instructions are addresses of instructions in the code of a process.
type instructions struct {
	// A system call that a return follows: a copy that came back from the call without a stack
	// would get no further.
	call uint64
	// The system call rt_sigreturn, 0 if there is none. Every Go program on Linux has it for its
	// signal handlers (go1.26 runtime/sys_linux_amd64.s and sys_linux_arm64.s,
	// sigreturn__sigaction), and so have glibc and the kernel's vDSO.
	sigreturn uint64
}

// find finds both in the code of a running process.
func find(pid int) (code instructions, err error) {
	maps, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
	if err != nil {
		return code, err
	}
	memory, err := openMemory(pid)
	if err != nil {
		return code, err
	}
	defer func() { _ = memory.Close() }()
	const overlap = 16
	buf := make([]byte, 1<<20)
	for a := range procfs.Areas(maps) {
		if !bytes.HasPrefix(a.Mode, []byte("r-x")) || len(a.Name) == 0 || string(a.Name) == "[vsyscall]" {
			continue
		}
		for at := a.Start; at < a.End; at += uint64(len(buf)) - overlap {
			n, _ := memory.ReadAt(buf[:min(uint64(len(buf)), a.End-at)], int64(at))
			code.note(at, buf[:n])
			if code.call != 0 && code.sigreturn != 0 {
				return code, nil
			}
		}
	}
	if code.call == 0 {
		return code, errors.New("its code has no system call that a return follows")
	}
	return code, nil
}

// note records the instructions found in mem, which lies at an address.
func (c *instructions) note(at uint64, mem []byte) {
	if i := indexOf(mem, callReturn[:]); i >= 0 && c.call == 0 {
		c.call = at + uint64(i)
	}
	for _, s := range sigreturns {
		if i := indexOf(mem, s); i >= 0 && c.sigreturn == 0 {
			c.sigreturn = at + uint64(i)
		}
	}
}

// indexOf returns the first index of code in mem that is aligned as instructions are; -1 if there
// is none.
func indexOf(mem, code []byte) int {
	for from := 0; ; {
		i := bytes.Index(mem[from:], code)
		if i < 0 {
			return -1
		}
		if from += i; from%alignment == 0 {
			return from
		}
		from++
	}
}
