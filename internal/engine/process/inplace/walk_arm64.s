//go:build linux || windows || darwin

#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// func callWalk(c uintptr)
TEXT ·callWalk(SB), NOSPLIT, $16-8
	NO_LOCAL_POINTERS
	MOVD c+0(FP), R19

	// Arguments begin one word above the caller's SP: its lowest word is for the link register.
	MOVD $c+0(FP), R0
	SUB  $8, R0
	MOVD R0, control_sp(R19)
	MOVD R30, control_pc(R19)
	MOVD g, control_g(R19)

	MOVD R19, 8(RSP)
	CALL ·walk(SB)
	RET
