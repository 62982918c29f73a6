package main

// sums writes the loops that reduce many numbers to one, in eight strands:
// element i goes to strand i mod 8. The caller adds up the strands.
//
//	func sumAVX(strands *[8]float64, x *float32, n int)
//	func dotAVX(strands *[8]float64, x, y *float32, n int)
//	func deviationAVX(strands *[8]float64, x *float32, n int, mean float64)
//	func accumulateAVX(sums *float64, x *float32, n int)
//	func accumulateProductsAVX(sums *float64, x, y *float32, n int)
//	func maxAVX(lanes *[16]float32, x *float32, n int)
func sums(w *writer) {
	strands(w, "sumAVX", 24, []string{"SI"}, func() {})
	strands(w, "dotAVX", 32, []string{"SI", "DX"}, func() {
		w.op("VCVTPS2PD (DX), Y2")
		w.op("VCVTPS2PD 16(DX), Y3")
		w.op("VMULPD Y2, Y0, Y0")
		w.op("VMULPD Y3, Y1, Y1")
		w.op("ADDQ $32, DX")
	})
	strands(w, "deviationAVX", 32, []string{"SI"}, func() {
		for half := range 2 {
			w.op("VSUBPD Y6, Y%d, Y%d", half, half)
			w.op("VMULPD Y%d, Y%d, Y%d", half, half, half)
		}
	})
	accumulate(w, "accumulateAVX", 24, []string{"SI"})
	accumulate(w, "accumulateProductsAVX", 32, []string{"SI", "DX"})
	largest(w)
	unscale(w)
}

// accumulate writes a loop that adds x, or the products of x and y, to sums.
func accumulate(w *writer, name string, arguments int, operands []string) {
	w.function(name+" adds to a sum for each element.", name, arguments)
	w.op("MOVQ sums+0(FP), DI")
	for i, register := range operands {
		w.op("MOVQ %s+%d(FP), %s", []string{"x", "y"}[i], 8+8*i, register)
	}
	w.op("MOVQ n+%d(FP), CX", arguments-8)
	top := w.label("loop")
	w.mark(top)
	for half := range 2 {
		w.op("VCVTPS2PD %d(SI), Y%d", 16*half, half)
		if len(operands) > 1 {
			w.op("VCVTPS2PD %d(DX), Y%d", 16*half, 2+half)
			w.op("VMULPD Y%d, Y%d, Y%[2]d", 2+half, half)
		}
		w.op("VADDPD %d(DI), Y%d, Y%[2]d", 32*half, half)
		w.op("VMOVUPS Y%d, %d(DI)", half, 32*half)
	}
	for i, register := range append(operands, "DI") {
		w.op("ADDQ $%d, %s", 32+32*(i/len(operands)), register)
	}
	w.op("SUBQ $8, CX")
	w.op("JGT %s", top)
	w.finish()
}

// strands writes a loop that widens x to Y0 and Y1, lets body change these, and
// adds them to Y4 and Y5.
func strands(w *writer, name string, arguments int, operands []string, body func()) {
	w.function(name+" adds in eight strands.", name, arguments)
	w.op("MOVQ strands+0(FP), DI")
	for i, register := range operands {
		w.op("MOVQ %s+%d(FP), %s", []string{"x", "y"}[i], 8+8*i, register)
	}
	w.op("MOVQ n+%d(FP), CX", 8+8*len(operands))
	if name == "deviationAVX" {
		w.op("VBROADCASTSD mean+24(FP), Y6")
	}
	w.op("VXORPS Y4, Y4, Y4")
	w.op("VXORPS Y5, Y5, Y5")
	top := w.label("loop")
	w.mark(top)
	w.op("VCVTPS2PD (SI), Y0")
	w.op("VCVTPS2PD 16(SI), Y1")
	body()
	w.op("VADDPD Y0, Y4, Y4")
	w.op("VADDPD Y1, Y5, Y5")
	w.op("ADDQ $32, SI")
	w.op("SUBQ $8, CX")
	w.op("JGT %s", top)
	w.op("VMOVUPS Y4, (DI)")
	w.op("VMOVUPS Y5, 32(DI)")
	w.finish()
}

// largest leaves eight maxima, followed by eight masks that mark lanes with a
// NaN.
func largest(w *writer) {
	w.function("maxAVX finds the largest of every eighth number.", "maxAVX", 24)
	w.op("MOVQ lanes+0(FP), DI")
	w.op("MOVQ x+8(FP), SI")
	w.op("MOVQ n+16(FP), CX")
	w.op("VMOVUPS (SI), Y0")
	w.op("VXORPS Y1, Y1, Y1")
	top := w.label("loop")
	w.mark(top)
	w.op("VMOVUPS (SI), Y2")
	w.op("VCMPPS $3, Y2, Y2, Y3")
	w.op("VORPS Y3, Y1, Y1")
	w.op("VMAXPS Y2, Y0, Y0")
	w.op("ADDQ $32, SI")
	w.op("SUBQ $8, CX")
	w.op("JGT %s", top)
	w.op("VMOVUPS Y0, (DI)")
	w.op("VMOVUPS Y1, 32(DI)")
	w.finish()
}

// unscale writes func unscaleAVX(bad *[8]float32, x *float32, n int, factor
// float32): x is multiplied, and bad is not 0 where something was not finite,
// because x−x is 0 for finite numbers only.
func unscale(w *writer) {
	w.function("unscaleAVX multiplies and finds what is not finite.", "unscaleAVX", 28)
	w.op("MOVQ bad+0(FP), DI")
	w.op("MOVQ x+8(FP), SI")
	w.op("MOVQ n+16(FP), CX")
	w.op("VBROADCASTSS factor+24(FP), Y4")
	w.op("VXORPS Y0, Y0, Y0")
	top := w.label("loop")
	w.mark(top)
	w.op("VMOVUPS (SI), Y1")
	w.op("VSUBPS Y1, Y1, Y2")
	w.op("VADDPS Y2, Y0, Y0")
	w.op("VMULPS Y4, Y1, Y1")
	w.op("VMOVUPS Y1, (SI)")
	w.op("ADDQ $32, SI")
	w.op("SUBQ $8, CX")
	w.op("JGT %s", top)
	w.op("VMOVUPS Y0, (DI)")
	w.finish()
}

// adam writes func adamAVX(p, gradient, m, v *float32, c *[9]float32, n int), with the
// numbers of type Adam in Y7 to Y15:
//
//	d = g + coupled·p; m = beta1·m + rest1·d; v = beta2·v + rest2·d·d
//	p = p·shrink − size·m/(√v·root + eps)
func adam(w *writer) {
	const coupled, beta1, rest1, beta2, rest2, root, eps, size, shrink = 7, 8, 9, 10, 11, 12, 13, 14, 15
	w.function("adamAVX is a step of Adam.", "adamAVX", 48)
	for i, register := range []string{"DI", "SI", "R8", "R9", "AX", "CX"} {
		w.op("MOVQ %s+%d(FP), %s", []string{"p", "gradient", "m", "v", "c", "n"}[i], 8*i, register)
	}
	for i := range 9 {
		w.op("VBROADCASTSS %d(AX), Y%d", 4*i, coupled+i)
	}
	top := w.label("loop")
	w.mark(top)
	w.op("VMOVUPS (DI), Y0")
	w.op("VMULPS Y0, Y%d, Y1", coupled)
	w.op("VADDPS (SI), Y1, Y1") // d
	w.op("VMULPS (R8), Y%d, Y2", beta1)
	w.op("VMULPS Y1, Y%d, Y3", rest1)
	w.op("VADDPS Y3, Y2, Y2") // m
	w.op("VMULPS (R9), Y%d, Y3", beta2)
	w.op("VMULPS Y1, Y%d, Y4", rest2)
	w.op("VMULPS Y1, Y4, Y4")
	w.op("VADDPS Y4, Y3, Y3") // v
	w.op("VMOVUPS Y2, (R8)")
	w.op("VMOVUPS Y3, (R9)")
	w.op("VSQRTPS Y3, Y3")
	w.op("VMULPS Y%d, Y3, Y3", root)
	w.op("VADDPS Y%d, Y3, Y3", eps)
	w.op("VMULPS Y2, Y%d, Y2", size)
	w.op("VDIVPS Y3, Y2, Y2")
	w.op("VMULPS Y%d, Y0, Y0", shrink)
	w.op("VSUBPS Y2, Y0, Y0")
	w.op("VMOVUPS Y0, (DI)")
	for _, register := range []string{"DI", "SI", "R8", "R9"} {
		w.op("ADDQ $32, %s", register)
	}
	w.op("SUBQ $8, CX")
	w.op("JGT %s", top)
	w.finish()
}
