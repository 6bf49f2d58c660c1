#include "go_asm.h"
#include "textflag.h"

// System call numbers: Linux, include/uapi/asm-generic/unistd.h.
#define SYS_dup3 24
#define SYS_close 57
#define SYS_read 63
#define SYS_write 64
#define SYS_pwrite64 68
#define SYS_exit_group 94
#define SYS_clock_gettime 113
#define SYS_rt_sigprocmask 135
#define SYS_getppid 173
#define SYS_clone 220

#define SIG_SETMASK 2
#define CLOCK_MONOTONIC 1
#define EINTR 4
#define EAGAIN 11

// The frame, above the saved link register: the caller's signal mask at 8, the mask of all signals
// at 16, a message at 24.

// func fork(c *control) int
//
// The kernel keeps all registers but R0. R19 is the control area throughout; in the child, R22 is the
// parent's process ID, and R23 the number of the call that ends it if it fails.
TEXT ·fork(SB), NOSPLIT, $32-16
	MOVD c+0(FP), R19

	// Arguments begin one word above the caller's SP: its lowest word is for the link register.
	MOVD $c+0(FP), R0
	SUB  $8, R0
	MOVD R0, control_sp(R19)
	MOVD R30, control_pc(R19)
	MOVD g, control_g(R19)

	MOVD $-1, R0
	MOVD R0, 16(RSP)
	MOVD $SIG_SETMASK, R0
	ADD  $16, RSP, R1
	ADD  $8, RSP, R2
	MOVD $8, R3
	MOVD $SYS_rt_sigprocmask, R8
	SVC
	CBNZ R0, refused

	MOVD $CLOCK_MONOTONIC, R0
	MOVD $control_began(R19), R1
	MOVD $SYS_clock_gettime, R8
	SVC

	// A new process with its own memory and descriptors, on the same stack address.
	MOVD control_flags(R19), R0
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD ZR, R3
	MOVD ZR, R4
	MOVD $SYS_clone, R8
	SVC
	CBZ  R0, child

	MOVD R0, ret+8(FP)
	MOVD $CLOCK_MONOTONIC, R0
	MOVD $control_ended(R19), R1
	MOVD $SYS_clock_gettime, R8
	SVC
	MOVD $SIG_SETMASK, R0
	ADD  $8, RSP, R1
	MOVD ZR, R2
	MOVD $8, R3
	MOVD $SYS_rt_sigprocmask, R8
	SVC
	RET

refused:
	MOVD R0, ret+8(FP)
	RET

child:
	MOVD $SYS_getppid, R8
	SVC
	MOVD R0, R22

	// Socket and file become 0 and 1; both were 3 or more, so neither is overwritten.
	MOVD control_socket(R19), R0
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD $SYS_dup3, R8
	MOVD R8, R23
	SVC
	CBNZ R0, refusal
	MOVD control_file(R19), R0
	MOVD $1, R1
	MOVD ZR, R2
	MOVD $SYS_dup3, R8
	SVC
	CMP  $1, R0
	BNE  refusal

	// Everything else is closed, also this process's copy of the parent's end.
	MOVD $2, R0
	MOVD $0xffffffff, R1
	MOVD ZR, R2
	MOVD control_closeRange(R19), R8
	SVC
	CBZ  R0, answer
	MOVD $2, R20
	MOVD control_closeLimit(R19), R21

closing:
	CMP R21, R20
	BHS answer
	MOVD R20, R0
	MOVD $SYS_close, R8
	SVC
	ADD  $1, R20
	B    closing

answer:
	// The first message says that the child is ready; its contents do not matter.
	MOVD ZR, R0
	ADD  $24, RSP, R1
	MOVD $const_messageSize, R2
	MOVD $SYS_write, R8
	MOVD R8, R23
	SVC
	CMP  $const_messageSize, R0
	BNE  refusal

listen:
	MOVD ZR, R0
	ADD  $24, RSP, R1
	MOVD $const_messageSize, R2
	MOVD $SYS_read, R8
	MOVD R8, R23
	SVC
	CMP  $const_messageSize, R0
	BEQ  serve
	CMN  $EAGAIN, R0
	BEQ  idle
	CMN  $EINTR, R0
	BNE  refusal

idle:
	MOVD $SYS_getppid, R8
	SVC
	CMP  R22, R0
	BEQ  listen
	B    exit

refusal:
	// The parent can read it once the child is gone.
	MOVD R23, control_call(R19)
	MOVD R0, control_result(R19)

exit:
	MOVD ZR, R0
	MOVD $SYS_exit_group, R8
	SVC
	B    exit

serve:
	MOVD 24(RSP), R21               // requests left
	MOVD $control_requests(R19), R20

next:
	CBZ R21, answer

copy:
	// At most so much at a time that the parent sees progress. The kernel writes less up to an
	// address that cannot be read.
	MOVD request_done(R20), R4
	MOVD request_size(R20), R2
	SUBS R4, R2, R2
	BEQ  served
	MOVD $const_maxWrite, R5
	CMP  R5, R2
	CSEL LO, R2, R5, R2
	MOVD request_addr(R20), R1
	ADD  R4, R1
	MOVD request_offset(R20), R3
	ADD  R4, R3
	MOVD $1, R0
	MOVD $SYS_pwrite64, R8
	SVC
	CMP  $0, R0
	BLE  failed
	MOVD request_done(R20), R4
	ADD  R0, R4
	MOVD R4, request_done(R20)
	B    copy

failed:
	NEG  R0, R0
	MOVD R0, request_errno(R20)

served:
	ADD $request__size, R20
	SUB $1, R21
	B   next
