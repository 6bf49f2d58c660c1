package progtest

// Linux, arch/x86/entry/syscalls/syscall_64.tbl.
const (
	seccomp        = 317
	memfdCreate    = 319
	processVMReadv = 310
	userfaultfd    = 323
)
