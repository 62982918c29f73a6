#include "go_asm.h"
#include "textflag.h"

// func returns(pcs *stackKey)
//
// A frame pointer points to where the caller's is kept, and above that lies the
// address to return to. Stacks grow down, so each frame lies above the one
// before it; the outermost has no frame pointer, or one that leads nowhere up.
TEXT ·returns(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ pcs+0(FP), DI
	MOVQ BP, AX
	XORQ CX, CX

frame:
	TESTQ AX, AX
	JZ    done
	MOVQ  8(AX), BX
	MOVQ  BX, (DI)(CX*8)
	INCQ  CX
	CMPQ  CX, $const_maxFrames
	JGE   done
	MOVQ  (AX), DX
	CMPQ  DX, AX
	JLS   done
	MOVQ  DX, AX
	JMP   frame

done:
	RET
