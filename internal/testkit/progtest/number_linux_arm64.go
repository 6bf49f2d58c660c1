package progtest

// Linux, include/uapi/asm-generic/unistd.h.
const (
	seccomp        = 277
	memfdCreate    = 279
	processVMReadv = 270
	userfaultfd    = 282
)
