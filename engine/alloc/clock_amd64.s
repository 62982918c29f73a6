#include "textflag.h"

// func counter() uint64
TEXT ·counter(SB), NOSPLIT|NOFRAME, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func invariantCounter() bool
//
// Bit 8 of EDX of CPUID's leaf 0x80000007, where that leaf is there.
TEXT ·invariantCounter(SB), NOSPLIT|NOFRAME, $0-1
	MOVL $0x80000000, AX
	XORL CX, CX
	CPUID
	CMPL AX, $0x80000007
	JCS  no
	MOVL $0x80000007, AX
	XORL CX, CX
	CPUID
	SHRL $8, DX
	ANDL $1, DX
	MOVB DX, ret+0(FP)
	RET

no:
	MOVB $0, ret+0(FP)
	RET
