#include "textflag.h"

// func rawClone(number, a, b uintptr) (pid, errno uintptr)
TEXT ·rawClone(SB),NOSPLIT|NOFRAME,$0-40
	MOVD	number+0(FP), R8
	MOVD	a+8(FP), R0
	MOVD	b+16(FP), R1
	MOVD	$0, R2
	MOVD	$0, R3
	MOVD	$0, R4
	MOVD	$0, R5
	SVC
	CMN	$4095, R0
	BCC	born
	MOVD	$-1, R4
	MOVD	R4, pid+24(FP)
	NEG	R0, R0
	MOVD	R0, errno+32(FP)
	RET
born:
	MOVD	R0, pid+24(FP)
	MOVD	ZR, errno+32(FP)
	RET
