package main

import "fmt"

// tile is the shape of a micro-kernel: rows × (2·lanes) numbers of the product
// stay in registers while the kernel runs along K.
type tile struct {
	name     string
	register string // Y or Z
	lanes    int    // float32 numbers in a register
	rows     int
}

// The first two registers hold a row of B, the next two an element of A in
// every lane, and the accumulators follow.
const firstAccumulator = 4

func (t tile) accumulator(row, half int) string {
	return fmt.Sprintf("%s%d", t.register, firstAccumulator+2*row+half)
}

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
			w.op("VXORPS %s, %s, %s", a, a, a)
		}
	}
	const unroll = 4
	steps(w, t, unroll)
	steps(w, t, 1)
	store(w, t)
}

// steps writes a loop that takes n steps of k at a time, while CX has them.
func steps(w *writer, t tile, n int) {
	top, end := w.label("loop"), w.label("done")
	w.op("SUBQ $%d, CX", n)
	w.op("JLT %s", end)
	w.mark(top)
	for i := range n {
		step(w, t, i)
	}
	w.op("ADDQ $%d, SI", 4*t.rows*n)
	w.op("ADDQ $%d, DI", 2*t.bytes()*n)
	w.op("SUBQ $%d, CX", n)
	w.op("JGE %s", top)
	w.mark(end)
	w.op("ADDQ $%d, CX", n)
}

func step(w *writer, t tile, i int) {
	for half := range 2 {
		w.op("VMOVUPS %d(DI), %s%d", (2*i+half)*t.bytes(), t.register, half)
	}
	for row := range t.rows {
		element := fmt.Sprintf("%s%d", t.register, 2+row%2)
		w.op("VBROADCASTSS %d(SI), %s", 4*(i*t.rows+row), element)
		for half := range 2 {
			w.op("VFMADD231PS %s%d, %s, %s", t.register, half, element, t.accumulator(row, half))
		}
	}
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
			w.op("VADDPS %d(BX), %s, %s", half*t.bytes(), a, a)
		}
		w.op("ADDQ R8, BX")
	}
	w.mark(plain)
	for row := range t.rows {
		for half := range 2 {
			w.op("VMOVUPS %s, %d(DX)", t.accumulator(row, half), half*t.bytes())
		}
		w.op("ADDQ R8, DX")
	}
	w.finish()
}

// peak writes func name(n int): n rounds of independent multiply-adds in
// registers, what the processor could do at most.
func peak(w *writer, name, register string, accumulators int) {
	w.function(name+" runs n rounds of multiply-adds on registers alone.", name, 8)
	w.op("MOVQ n+0(FP), CX")
	top := w.label("loop")
	for i := range firstAccumulator + accumulators {
		w.op("VXORPS %s%d, %s%d, %s%d", register, i, register, i, register, i)
	}
	w.mark(top)
	for i := range accumulators {
		w.op("VFMADD231PS %s0, %s1, %s%d", register, register, register, firstAccumulator+i)
	}
	w.op("DECQ CX")
	w.op("JNE %s", top)
	w.finish()
}
