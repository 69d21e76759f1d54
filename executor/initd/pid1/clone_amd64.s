#include "textflag.h"

// func rawClone(number, a, b uintptr) (pid, errno uintptr)
TEXT ·rawClone(SB),NOSPLIT|NOFRAME,$0-40
	MOVQ	number+0(FP), AX
	MOVQ	a+8(FP), DI
	MOVQ	b+16(FP), SI
	MOVQ	$0, DX
	MOVQ	$0, R10
	MOVQ	$0, R8
	MOVQ	$0, R9
	POPQ	R12 // the return address: the child, on the same stack, overwrites it
	SYSCALL
	PUSHQ	R12
	CMPQ	AX, $0xfffffffffffff001
	JLS	born
	MOVQ	$-1, pid+24(FP)
	NEGQ	AX
	MOVQ	AX, errno+32(FP)
	RET
born:
	MOVQ	AX, pid+24(FP)
	MOVQ	$0, errno+32(FP)
	RET
