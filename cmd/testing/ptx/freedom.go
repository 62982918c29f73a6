package ptx

import (
	"math"
	"slices"
)

// Freedom is what a machine makes of the results that the language leaves open. Of what
// the shipped modules use, these are, by NVIDIA's "Parallel Thread Execution ISA":
//
//   - ex2.approx.ftz.f32 may be 2 units in the last place off the nearest number. It is
//     exact for zeros and infinities; subnormal operands count as 0, and so do subnormal
//     results. (Before version 9 the manual said 2^-22 of the result, which is the same
//     at a power of two and less above it.)
//   - mma.sync of bf16 and f16 into f32 multiply exactly and add with at least
//     single precision. The order of additions, their rounding, and whether subnormal
//     operands count as 0 is open.
//
// All other arithmetic has one result, to the bit: the modules have no rcp.approx,
// rsqrt.approx, lg2.approx, sin, cos or tanh.
type Freedom int

// The ways to use it.
const (
	// Nearest gives the nearest number, and of products the sum that is rounded once.
	Nearest Freedom = iota
	// Low gives the least power. Sums begin with the last product, are rounded toward 0
	// after each, and subnormal operands count as 0.
	Low
	// High gives the greatest power, and rounds sums away from 0.
	High
)

// approximate is the one instruction that is open and only computes a register.
const approximate = "ex2.approx.ftz.f32"

// Open reports whether a result of the program is left open.
func (p *Program) Open() bool {
	return slices.ContainsFunc(p.code, func(in instruction) bool {
		return in.written != nil && (in.written.opcode == approximate || in.multiplies())
	})
}

// power builds ex2.approx.
func (l *linker) power(s *statement, in *instruction) {
	p := l.program
	in.lanes = of(func(x float32) float32 { return power(x, p.freedom) })
	in.d, in.a = l.operand(s, s.operands[0]), l.operand(s, s.operands[1])
}

// power is ex2.approx.ftz.
func power(x float32, f Freedom) float32 {
	const units = 2
	x = flushed(x)
	y := float32(math.Exp2(float64(x)))
	if x == 0 || y == 0 || y != y || math.IsInf(float64(y), 0) {
		return y
	}
	bits := math.Float32bits(y)
	switch f {
	case Low:
		bits -= min(units, bits)
	case High:
		bits += units
		bits = min(bits, math.Float32bits(float32(math.Inf(1))))
	}
	return flushed(math.Float32frombits(bits))
}

// dot adds sixteen products to c. The nearest is exact, as far as float64 holds the sum,
// and rounded once.
func (f Freedom) dot(a, b *[16]float32, c float32) float32 {
	sum := float64(c)
	if f == Nearest {
		for k := range a {
			sum += float64(a[k]) * float64(b[k])
		}
		return float32(sum)
	}
	for k := len(a) - 1; k >= 0; k-- {
		x, y := a[k], b[k]
		if f == Low {
			x, y = flushed(x), flushed(y)
		}
		sum = f.single(sum + float64(x)*float64(y))
	}
	return float32(sum)
}

// single rounds to float32, toward 0 or away from it.
func (f Freedom) single(x float64) float64 {
	y := float32(x)
	toward := float32(0)
	if f == High {
		toward = float32(math.Copysign(math.Inf(1), x))
	}
	if off := math.Abs(float64(y)) - math.Abs(x); f == Low && off > 0 || f == High && off < 0 {
		y = math.Nextafter32(y, toward)
	}
	return float64(y)
}
