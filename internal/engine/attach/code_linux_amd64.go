package attach

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"github.com/leakgate/leakgate/internal/procmaps"
)

// instructions are addresses in the code of a process.
type instructions struct {
	// A system call with a return behind it: whoever came back from it without a stack would get no
	// further.
	call uint64
	// The system call rt_sigreturn, 0 if there is none. Every Go program on Linux has one for its signal
	// handlers (go1.26 runtime/sys_linux_amd64.s, sigreturn__sigaction), and so has glibc.
	sigreturn uint64
}

var (
	syscallRet = []byte{0x0f, 0x05, 0xc3}
	sigreturns = [...][]byte{
		{0xb8, 15, 0, 0, 0, 0x0f, 0x05},             // MOVL $15, AX; SYSCALL
		{0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05}, // MOVQ $15, AX; SYSCALL
	}
)

// find finds both in the code of a process that runs.
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
	for line := range bytes.Lines(maps) {
		a, ok := procmaps.Parse(bytes.TrimSpace(line))
		if !ok || !bytes.HasPrefix(a.Mode, []byte("r-x")) || len(a.Name) == 0 || string(a.Name) == "[vsyscall]" {
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

// note takes what there is in memory that lies at an address.
func (c *instructions) note(at uint64, mem []byte) {
	if i := bytes.Index(mem, syscallRet); i >= 0 && c.call == 0 {
		c.call = at + uint64(i)
	}
	for _, s := range sigreturns {
		if i := bytes.Index(mem, s); i >= 0 && c.sigreturn == 0 {
			c.sigreturn = at + uint64(i)
		}
	}
}
