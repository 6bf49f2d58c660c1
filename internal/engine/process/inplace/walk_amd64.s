//go:build linux || windows || darwin

#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// func callWalk(c uintptr)
TEXT ·callWalk(SB), NOSPLIT, $8-8
	NO_LOCAL_POINTERS
	MOVQ c+0(FP), BX

	// 0(FP) is where SP will be after the return, with the return address below.
	LEAQ c+0(FP), AX
	MOVQ AX, control_sp(BX)
	MOVQ -8(AX), AX
	MOVQ AX, control_pc(BX)
	MOVQ (TLS), AX
	MOVQ AX, control_g(BX)

	MOVQ BX, 0(SP)
	CALL ·walk(SB)
	RET
