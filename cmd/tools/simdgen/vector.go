package main

import (
	"fmt"
	"math"
)

// constants is the table of numbers that the loops use, by place. Each number is
// repeated to fill a register.
var constants []float32

const lanes = 8

// constant returns an operand with x in every lane, from the table of constants.
func constant(x float32) string {
	for i, c := range constants {
		if math.Float32bits(c) == math.Float32bits(x) {
			return fmt.Sprintf("constants<>+%d(SB)", 4*lanes*i)
		}
	}
	constants = append(constants, x)
	return fmt.Sprintf("constants<>+%d(SB)", 4*lanes*(len(constants)-1))
}

func (w *writer) table() {
	w.WriteString("\n")
	for i, c := range constants {
		for lane := range lanes / 2 {
			bits := uint64(math.Float32bits(c))
			fmt.Fprintf(w, "DATA constants<>+%d(SB)/8, $%#016x // %v\n", 4*lanes*i+8*lane, bits<<32|bits, c)
		}
	}
	fmt.Fprintf(w, "GLOBL constants<>(SB), RODATA|NOPTR, $%d\n", 4*lanes*len(constants))
}

// with writes an operation of Yto = Yfrom op x.
func (w *writer) with(operation string, x float32, from, to int) {
	w.op("%s %s, Y%d, Y%d", operation, constant(x), from, to)
}

// vectors writes the loops over single numbers: func name(dst, a, b *float32,
// alpha, beta float32, n int), n a multiple of eight. Y0 is a, Y1 is b, Y14 alpha
// and Y15 beta; the result is in Y0. The arithmetic is that of the plain Go
// loops, operation by operation, so that it agrees with those loops, which
// compute the rest of a run.
func vectors(w *writer) {
	loop(w, "addAVX", true, func() { w.op("VADDPS Y1, Y0, Y0") })
	loop(w, "mulAVX", true, func() { w.op("VMULPS Y1, Y0, Y0") })
	loop(w, "scaleAVX", false, func() { w.op("VMULPS Y14, Y0, Y0") })
	loop(w, "addScaledAVX", true, func() {
		w.op("VMULPS Y14, Y1, Y1")
		w.op("VADDPS Y1, Y0, Y0")
	})
	loop(w, "standardizeAVX", false, func() { // (a−alpha)·beta
		w.op("VSUBPS Y14, Y0, Y0")
		w.op("VMULPS Y15, Y0, Y0")
	})
	loop(w, "expAVX", false, func() { // e^(alpha·a−beta)
		w.op("VMULPS Y14, Y0, Y0")
		w.op("VSUBPS Y15, Y0, Y0")
		exponential(w)
	})
	loop(w, "geluTanhAVX", false, func() { geluTanh(w) })
	loop(w, "geluTanhSlopeAVX", true, func() { geluTanhSlope(w) })
	loop(w, "geluAVX", false, func() { gelu(w) })
	loop(w, "geluSlopeAVX", true, func() { geluSlope(w) })
	loop(w, "reluAVX", false, func() { positive(w, 1, 0) })
	loop(w, "reluSlopeAVX", true, func() { positive(w, 2, 1) })
	loop(w, "siluAVX", false, func() { silu(w) })
	loop(w, "siluSlopeAVX", true, func() { siluSlope(w) })
}

func loop(w *writer, name string, two bool, body func()) {
	w.function(name+" is one of the loops over n numbers.", name, 40)
	for i, register := range []string{"DI", "SI", "DX"} {
		w.op("MOVQ %s+%d(FP), %s", []string{"dst", "a", "b"}[i], 8*i, register)
	}
	w.op("VBROADCASTSS alpha+24(FP), Y14")
	w.op("VBROADCASTSS beta+28(FP), Y15")
	w.op("MOVQ n+32(FP), CX")
	top := w.label("loop")
	w.mark(top)
	w.op("VMOVUPS (SI), Y0")
	if two {
		w.op("VMOVUPS (DX), Y1")
		w.op("ADDQ $32, DX")
	}
	body()
	w.op("VMOVUPS Y0, (DI)")
	w.op("ADDQ $32, SI")
	w.op("ADDQ $32, DI")
	w.op("SUBQ $8, CX")
	w.op("JGT %s", top)
	w.finish()
}

// exponential sets Y0 to e^Y0 as exp32 of package cpu does, which explains it.
// It uses Y2 to Y7.
func exponential(w *writer) {
	w.with("VMULPS", 1.44269504, 0, 2)
	w.with("VADDPS", 3<<22, 2, 2)
	w.with("VSUBPS", 3<<22, 2, 2) // n
	w.with("VMULPS", 0.693359375, 2, 3)
	w.op("VSUBPS Y3, Y0, Y3")
	w.with("VMULPS", -2.12194440e-4, 2, 4)
	w.op("VSUBPS Y4, Y3, Y3") // r
	w.op("VMOVUPS %s, Y4", constant(1.0/5040))
	for _, c := range []float32{1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5} {
		w.op("VMULPS Y3, Y4, Y4")
		w.with("VADDPS", c, 4, 4)
	}
	w.op("VMULPS Y3, Y4, Y4")
	w.op("VMULPS Y3, Y4, Y4")
	w.op("VADDPS Y3, Y4, Y4")
	w.with("VADDPS", 1, 4, 4)
	power(w)
	w.with("VCMPPS $1,", -87.33654, 0, 2) // below: 0
	w.op("VANDNPS Y4, Y2, Y4")
	w.with("VCMPPS $13,", 88.72283, 0, 2) // above: infinite
	w.op("VMOVUPS %s, Y7", constant(float32(math.Inf(1))))
	w.op("VBLENDVPS Y2, Y7, Y4, Y0")
}

// power multiplies Y4 by 2^Y2 in two steps.
func power(w *writer) {
	w.op("VCVTPS2DQ Y2, Y2")
	w.op("VPSRAD $1, Y2, Y5")
	w.op("VPSUBD Y5, Y2, Y6")
	for _, half := range []int{5, 6} {
		w.with("VPADDD", math.Float32frombits(127), half, half)
		w.op("VPSLLD $23, Y%d, Y%d", half, half)
		w.op("VMULPS Y%d, Y4, Y4", half)
	}
}

const (
	geluScale = 2 * 0.79788456080286535588
	geluCubic = 0.044715
)

// sigmoid sets Y0 to 1/(1+e^−Y0) and Y7 to 1. It keeps Y1 and Y8.
func sigmoid(w *writer) {
	w.with("VXORPS", float32(math.Copysign(0, -1)), 0, 0)
	exponential(w)
	w.op("VMOVUPS %s, Y7", constant(1))
	w.op("VADDPS Y7, Y0, Y0")
	w.op("VDIVPS Y0, Y7, Y0")
}

// geluSigmoid sets Y0 to sigmoid(geluScale·(x + geluCubic·x³)) and leaves x in
// Y8.
func geluSigmoid(w *writer) {
	w.op("VMOVAPS Y0, Y8")
	w.with("VMULPS", geluCubic, 0, 0)
	for range 2 {
		w.op("VMULPS Y8, Y0, Y0")
	}
	w.op("VADDPS Y0, Y8, Y0")
	w.with("VMULPS", geluScale, 0, 0)
	sigmoid(w)
}

func geluTanh(w *writer) {
	geluSigmoid(w)
	w.op("VMULPS Y0, Y8, Y0")
}

// geluTanhSlope sets Y0 to b·(s + x·s·(1−s)·geluScale·(1 + 3·geluCubic·x²)).
func geluTanhSlope(w *writer) {
	geluSigmoid(w)
	w.op("VSUBPS Y0, Y7, Y2") // Y7 is 1
	w.op("VMULPS Y0, Y8, Y3")
	w.op("VMULPS Y2, Y3, Y3")
	w.with("VMULPS", 3*geluCubic, 8, 4)
	w.op("VMULPS Y8, Y4, Y4")
	w.with("VADDPS", 1, 4, 4)
	w.with("VMULPS", geluScale, 4, 4)
	w.op("VMULPS Y4, Y3, Y3")
	w.op("VADDPS Y3, Y0, Y0")
	w.op("VMULPS Y0, Y1, Y0")
}

// normal sets Y0 to Φ(x) and Y9 to e^(−x²/2), and leaves x in Y8, as normal32
// of package cpu does, which explains it.
func normal(w *writer) {
	w.op("VMOVAPS Y0, Y8")
	w.with("VMULPS", -0.5, 8, 0)
	w.op("VMULPS Y8, Y0, Y0")
	exponential(w)
	w.op("VMOVAPS Y0, Y9")
	w.with("VANDPS", math.Float32frombits(0x7fffffff), 8, 2)
	w.with("VMULPS", 0.3275911*math.Sqrt2/2, 2, 2)
	w.op("VMOVUPS %s, Y7", constant(1))
	w.op("VADDPS Y7, Y2, Y2")
	w.op("VDIVPS Y2, Y7, Y2") // t
	w.op("VMOVUPS %s, Y3", constant(1.061405429/2))
	for _, c := range []float32{-1.453152027 / 2, 1.421413741 / 2, -0.284496736 / 2, 0.254829592 / 2} {
		w.op("VMULPS Y2, Y3, Y3")
		w.with("VADDPS", c, 3, 3)
	}
	w.op("VMULPS Y2, Y3, Y3")
	w.op("VMULPS Y9, Y3, Y3") // the tail
	w.op("VMOVUPS %s, Y7", constant(1))
	w.op("VSUBPS Y3, Y7, Y4")
	w.op("VBLENDVPS Y8, Y3, Y4, Y0")
}

func gelu(w *writer) {
	normal(w)
	w.op("VMULPS Y0, Y8, Y0")
}

// geluSlope sets Y0 to b·(Φ(x) + x·e^(−x²/2)/√(2π)).
func geluSlope(w *writer) {
	normal(w)
	w.with("VMULPS", 0.39894228040143267794, 8, 2)
	w.op("VMULPS Y9, Y2, Y2")
	w.op("VADDPS Y2, Y0, Y0")
	w.op("VMULPS Y0, Y1, Y0")
}

// positive sets Y0 to a register, or to 0 in lanes where the comparison of Y0
// with 0 holds: 1 means below, 2 means not above. Neither holds for a NaN.
func positive(w *writer, compares, register int) {
	w.op("VXORPS Y2, Y2, Y2")
	w.op("VCMPPS $%d, Y2, Y0, Y3", compares)
	w.op("VANDNPS Y%d, Y3, Y0", register)
}

func silu(w *writer) {
	w.op("VMOVAPS Y0, Y8")
	sigmoid(w)
	w.op("VMULPS Y0, Y8, Y0")
}

// siluSlope sets Y0 to b·(s·(1 + x·(1−s))).
func siluSlope(w *writer) {
	w.op("VMOVAPS Y0, Y8")
	sigmoid(w)
	w.op("VSUBPS Y0, Y7, Y2")
	w.op("VMULPS Y2, Y8, Y2")
	w.op("VADDPS Y2, Y7, Y2")
	w.op("VMULPS Y2, Y0, Y0")
	w.op("VMULPS Y0, Y1, Y0")
}
