//go:build amd64 || arm64

package progtest

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"
)

// A Refusal is a system call that fails, after Install, in all threads of this process and its
// children, as in a sandbox.
type Refusal struct {
	Number uintptr
	Errno  syscall.Errno
	// Argument and Mask restrict the refusal to calls that have one of the mask's bits in this
	// argument (the first is 0). With a Mask of 0, all calls fail. If Negated is set, calls that
	// have none of the bits fail.
	Argument int
	Mask     uint32
	Negated  bool
}

// Numbers that package syscall lacks on some of the supported systems.
const (
	MemfdCreate     = memfdCreate
	Setns           = processVMReadv - 2
	ProcessVMReadv  = processVMReadv
	ProcessVMWritev = processVMReadv + 1
	Kcmp            = processVMReadv + 2
	Userfaultfd     = userfaultfd
	Clone3          = 435
	CloseRange      = 436
	PidfdGetfd      = 438
	ProcessMadvise  = 440
)

// NoProcesses refuses the clone of processes, but not of threads.
func NoProcesses(errno syscall.Errno) Refusal {
	return Refusal{Number: syscall.SYS_CLONE, Errno: errno, Mask: syscall.CLONE_THREAD, Negated: true}
}

// NoSharedMappings refuses shared mappings, for which the runtime itself never asks.
func NoSharedMappings(errno syscall.Errno) Refusal {
	return Refusal{Number: syscall.SYS_MMAP, Errno: errno, Argument: 3, Mask: syscall.MAP_SHARED}
}

// Install adds the filter, which cannot be removed.
func (r Refusal) Install() error {
	const (
		loadWord  = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS
		jumpEqual = syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K
		jumpSet   = syscall.BPF_JMP | syscall.BPF_JSET | syscall.BPF_K
		result    = syscall.BPF_RET | syscall.BPF_K

		numberOffset   = 0  // struct seccomp_data, nr
		argumentOffset = 16 // args[0], low half
		argumentSize   = 8

		allow  = 0x7fff_0000 // SECCOMP_RET_ALLOW
		refuse = 0x0005_0000 // SECCOMP_RET_ERRNO

		setNoNewPrivileges = 38 // prctl
		setFilter          = 1  // SECCOMP_SET_MODE_FILTER
		allThreads         = 1  // SECCOMP_FILTER_FLAG_TSYNC
	)
	match := syscall.SockFilter{Code: jumpSet, Jf: 1, K: r.Mask}
	if r.Mask == 0 || r.Negated {
		match = syscall.SockFilter{Code: jumpSet, Jt: 1, K: r.Mask}
	}
	program := []syscall.SockFilter{
		{Code: loadWord, K: numberOffset},
		{Code: jumpEqual, Jf: 3, K: uint32(r.Number)},
		{Code: loadWord, K: uint32(argumentOffset + argumentSize*r.Argument)},
		match,
		{Code: result, K: refuse | uint32(r.Errno)},
		{Code: result, K: allow},
	}
	filter := syscall.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivileges, 1, 0, 0, 0, 0); e != 0 {
		return fmt.Errorf("prctl: %w", e)
	}
	if _, _, e := syscall.RawSyscall(seccomp, setFilter, allThreads, uintptr(unsafe.Pointer(&filter))); e != 0 {
		return fmt.Errorf("seccomp: %w", e)
	}
	return nil
}
