package main

import "fmt"

// tile is the shape of a micro-kernel: rows × (2·lanes) numbers of the product
// stay in registers while the kernel runs along K.
type tile struct {
	name     string
	register string // Y or Z
	lanes    int    // float32 numbers in a register
	rows     int
	multiply func(w *writer, b, a, sum int) // adds b·a to sum, all of them registers
}

// The first two registers hold a row of B, the next two an element of A in
// every lane, and the accumulators follow.
const firstAccumulator = 4

func (t tile) accumulator(row, half int) int { return firstAccumulator + 2*row + half }

func (t tile) bytes() int { return 4 * t.lanes }

// product writes func name(k int, a, b, c *float32, stride int, add bool).
//
// Each step of the loop adds the outer product of a column of A, rows numbers
// at SI, and a row of B, 2·lanes numbers at DI, by fused multiply-add. The order
// of the sums is that of k in every tile shape, so all shapes give equal bits.
func product(w *writer, t tile) {
	w.function(fmt.Sprintf("%s multiplies a packed %d×k panel by a packed k×%d panel.", t.name, t.rows, 2*t.lanes), t.name, 41)
	for i, register := range []string{"CX", "SI", "DI", "DX", "R8"} {
		w.op("MOVQ %s+%d(FP), %s", []string{"k", "a", "b", "c", "stride"}[i], 8*i, register)
	}
	w.op("SHLQ $2, R8")
	for row := range t.rows {
		for half := range 2 {
			a := t.accumulator(row, half)
			w.op("VXORPS %[1]s%[2]d, %[1]s%[2]d, %[1]s%[2]d", t.register, a)
		}
	}
	steps(w, t)
	store(w, t)
}

// steps writes a loop that takes a step of k at a time. A processor computes as fast
// without unrolling it: the sums of a step take longer than reading its instructions.
func steps(w *writer, t tile) {
	top, end := w.label("loop"), w.label("done")
	w.op("DECQ CX")
	w.op("JLT %s", end)
	w.mark(top)
	for half := range 2 {
		w.op("VMOVUPS %d(DI), %s%d", half*t.bytes(), t.register, half)
	}
	for row := range t.rows {
		element := 2 + row%2
		w.op("VBROADCASTSS %d(SI), %s%d", 4*row, t.register, element)
		for half := range 2 {
			t.multiply(w, half, element, t.accumulator(row, half))
		}
	}
	w.op("ADDQ $%d, SI", 4*t.rows)
	w.op("ADDQ $%d, DI", 2*t.bytes())
	w.op("DECQ CX")
	w.op("JGE %s", top)
	w.mark(end)
}

// store writes the tile to C, adding what C holds when add is set.
func store(w *writer, t tile) {
	plain := w.label("plain")
	w.op("MOVBLZX add+40(FP), AX")
	w.op("TESTL AX, AX")
	w.op("JEQ %s", plain)
	w.op("MOVQ DX, BX")
	for row := range t.rows {
		for half := range 2 {
			a := t.accumulator(row, half)
			w.op("VADDPS %[1]d(BX), %[2]s%[3]d, %[2]s%[3]d", half*t.bytes(), t.register, a)
		}
		w.op("ADDQ R8, BX")
	}
	w.mark(plain)
	for row := range t.rows {
		for half := range 2 {
			w.op("VMOVUPS %s%d, %d(DX)", t.register, t.accumulator(row, half), half*t.bytes())
		}
		w.op("ADDQ R8, DX")
	}
	w.finish()
}

// fused writes a fused multiply-add of float32 numbers.
func fused(register string) func(w *writer, b, a, sum int) {
	return func(w *writer, b, a, sum int) {
		w.op("VFMADD231PS %[1]s%[2]d, %[1]s%[3]d, %[1]s%[4]d", register, b, a, sum)
	}
}

// pairs writes VDPBF16PS on Z registers, which Go's assembler does not have: each
// lane of sum takes the products of two bfloat16 numbers of b and of a. Its bytes
// are those of an EVEX prefix, opcode 52 of map 0F38 with prefix F3 (Intel's
// Software Developer's Manual, volume 2, 2.7.1).
func pairs(w *writer, b, a, sum int) {
	not := func(register, bit int) int { return register>>bit&1 ^ 1 }
	prefix := not(sum, 3)<<7 | not(b, 4)<<6 | not(b, 3)<<5 | not(sum, 4)<<4 | 0x2
	second, third := a&0xf<<3^0x78|0x6, 0x40|not(a, 4)<<3
	operands := 0xc0 | sum&7<<3 | b&7
	w.op("LONG $%#08x; WORD $%#04x // VDPBF16PS Z%d, Z%d, Z%d", third<<24|second<<16|prefix<<8|0x62, operands<<8|0x52, b, a, sum)
}
