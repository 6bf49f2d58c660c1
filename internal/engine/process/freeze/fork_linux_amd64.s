#include "go_asm.h"
#include "textflag.h"

// System call numbers: Linux, arch/x86/entry/syscalls/syscall_64.tbl.
#define SYS_read 0
#define SYS_write 1
#define SYS_close 3
#define SYS_rt_sigprocmask 14
#define SYS_pwrite64 18
#define SYS_clone 56
#define SYS_getppid 110
#define SYS_exit_group 231
#define SYS_clock_gettime 228
#define SYS_dup3 292

#define SIG_SETMASK 2
#define CLOCK_MONOTONIC 1
#define EINTR 4
#define EAGAIN 11

// The frame: the caller's signal mask at 0, the mask of all signals at 8, a message at 16.

// func fork(c *control) int
//
// The kernel keeps all registers but AX, CX and R11. BX is the control area throughout; in the child,
// R14 is the parent's process ID, and R15 the number of the call that ends it if it fails.
TEXT ·fork(SB), NOSPLIT, $24-16
	MOVQ c+0(FP), BX

	// 0(FP) is where SP will be after the return, with the return address below.
	LEAQ c+0(FP), AX
	MOVQ AX, control_sp(BX)
	MOVQ -8(AX), AX
	MOVQ AX, control_pc(BX)
	MOVQ (TLS), AX
	MOVQ AX, control_g(BX)

	MOVQ $-1, AX
	MOVQ AX, 8(SP)
	MOVQ $SIG_SETMASK, DI
	LEAQ 8(SP), SI
	LEAQ 0(SP), DX
	MOVQ $8, R10
	MOVQ $SYS_rt_sigprocmask, AX
	SYSCALL
	CMPQ AX, $0
	JNE  refused

	MOVQ $CLOCK_MONOTONIC, DI
	LEAQ control_began(BX), SI
	MOVQ $SYS_clock_gettime, AX
	SYSCALL

	// A new process with its own memory and descriptors, on the same stack address.
	MOVQ control_flags(BX), DI
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	XORL R8, R8
	MOVQ $SYS_clone, AX
	SYSCALL
	CMPQ AX, $0
	JEQ  child

	MOVQ AX, ret+8(FP)
	MOVQ $CLOCK_MONOTONIC, DI
	LEAQ control_ended(BX), SI
	MOVQ $SYS_clock_gettime, AX
	SYSCALL
	MOVQ $SIG_SETMASK, DI
	LEAQ 0(SP), SI
	XORL DX, DX
	MOVQ $8, R10
	MOVQ $SYS_rt_sigprocmask, AX
	SYSCALL
	RET

refused:
	MOVQ AX, ret+8(FP)
	RET

child:
	MOVQ $SYS_getppid, AX
	SYSCALL
	MOVQ AX, R14

	// Socket and file become 0 and 1; both were 3 or more, so neither is overwritten.
	MOVQ control_socket(BX), DI
	XORL SI, SI
	XORL DX, DX
	MOVQ $SYS_dup3, R15
	MOVQ R15, AX
	SYSCALL
	CMPQ AX, $0
	JNE  refusal
	MOVQ control_file(BX), DI
	MOVQ $1, SI
	XORL DX, DX
	MOVQ $SYS_dup3, AX
	SYSCALL
	CMPQ AX, $1
	JNE  refusal

	// Everything else is closed, also this process's copy of the parent's end.
	MOVQ $2, DI
	MOVL $0xffffffff, SI
	XORL DX, DX
	MOVQ control_closeRange(BX), AX
	SYSCALL
	CMPQ AX, $0
	JEQ  answer
	MOVQ $2, R12

closing:
	CMPQ R12, control_closeLimit(BX)
	JCC  answer
	MOVQ R12, DI
	MOVQ $SYS_close, AX
	SYSCALL
	ADDQ $1, R12
	JMP  closing

answer:
	// The first message says that the child is ready; its contents do not matter.
	XORL DI, DI
	LEAQ 16(SP), SI
	MOVQ $const_messageSize, DX
	MOVQ $SYS_write, R15
	MOVQ R15, AX
	SYSCALL
	CMPQ AX, $const_messageSize
	JNE  refusal

listen:
	XORL DI, DI
	LEAQ 16(SP), SI
	MOVQ $const_messageSize, DX
	MOVQ $SYS_read, R15
	MOVQ R15, AX
	SYSCALL
	CMPQ AX, $const_messageSize
	JEQ  serve
	CMPQ AX, $-EAGAIN
	JEQ  idle
	CMPQ AX, $-EINTR
	JNE  refusal

idle:
	MOVQ $SYS_getppid, AX
	SYSCALL
	CMPQ AX, R14
	JEQ  listen
	JMP  exit

refusal:
	// The parent can read it once the child is gone.
	MOVQ R15, control_call(BX)
	MOVQ AX, control_result(BX)

exit:
	XORL DI, DI
	MOVQ $SYS_exit_group, AX
	SYSCALL
	JMP  exit

serve:
	MOVQ 16(SP), R13                     // requests left
	LEAQ control_requests(BX), R12

next:
	CMPQ R13, $0
	JEQ  answer

copy:
	// At most so much at a time that the parent sees progress. The kernel writes less up to an
	// address that cannot be read.
	MOVQ request_done(R12), AX
	MOVQ request_addr(R12), SI
	ADDQ AX, SI
	MOVQ request_size(R12), DX
	SUBQ AX, DX
	JEQ  served
	CMPQ DX, $const_maxWrite
	JLS  write
	MOVQ $const_maxWrite, DX

write:
	MOVQ request_offset(R12), R10
	ADDQ AX, R10
	MOVQ $1, DI
	MOVQ $SYS_pwrite64, AX
	SYSCALL
	CMPQ AX, $0
	JLE  failed
	ADDQ AX, request_done(R12)
	JMP  copy

failed:
	NEGQ AX
	MOVQ AX, request_errno(R12)

served:
	ADDQ $request__size, R12
	SUBQ $1, R13
	JMP  next
