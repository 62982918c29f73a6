package cpu

import (
	"math"
	"unsafe"
)

// narrowFloat says whether T is float32. The compiler knows the answer for
// each T, so that it costs nothing.
func narrowFloat[T float]() bool {
	var x T
	return unsafe.Sizeof(x) == 4
}

// single returns x as float32 numbers for the loops in assembly, or nil if T is
// another type.
func single[T float](x []T) []float32 {
	if !narrowFloat[T]() || len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&x[0])), len(x))
}

// exp returns e^x: for float64 the library's, for float32 one that is faster
// and within two units in the last place.
func exp[T float](x T) T {
	if narrowFloat[T]() {
		return T(exp32(float32(x)))
	}
	return T(math.Exp(float64(x)))
}

// The limits of exp32: beyond them the result is infinite or zero. Results
// below the smallest normal number, 2^-126, are zero too.
const (
	exp32High = 88.72283
	exp32Low  = -87.33654
)

// exp32 writes x as n·ln 2 + r with |r| ≤ ln2/2, takes e^r from its Taylor
// polynomial of degree seven (remainder below 1e-8), and puts n into the
// exponent in two steps, because n may be 128.
func exp32(x float32) float32 {
	if !(x < exp32High) {
		if x != x {
			return x
		}
		return float32(math.Inf(1))
	}
	if x < exp32Low {
		return 0
	}
	const (
		log2e  = 1.44269504
		ln2Top = 0.693359375 // short, so that n·ln2Top is exact
		ln2Low = -2.12194440e-4
		magic  = 3 << 22 // adding it rounds to a whole number
	)
	n := x*log2e + magic - magic
	r := x - n*ln2Top - n*ln2Low
	p := float32(1.0 / 5040)
	p = p*r + 1.0/720
	p = p*r + 1.0/120
	p = p*r + 1.0/24
	p = p*r + 1.0/6
	p = p*r + 0.5
	p = p*r*r + r + 1
	half := int32(n) >> 1
	return p * math.Float32frombits(uint32(half+127)<<23) * math.Float32frombits(uint32(int32(n)-half+127)<<23)
}

// tanh returns tanh x by 1 − 2/(1+e^2x), and near 0, where that cancels, by
// the first terms of its series.
func tanh[T float](x T) T {
	if !narrowFloat[T]() {
		return T(math.Tanh(float64(x)))
	}
	if x > -0.25 && x < 0.25 {
		s := x * x
		return x * (1 + s*(-1.0/3+s*(2.0/15+s*(-17.0/315+s*(62.0/2835)))))
	}
	return 1 - 2/(1+exp(2*x))
}

func sigmoid[T float](x T) T {
	return 1 / (1 + exp(-x))
}

func sqrt[T float](x T) T {
	if narrowFloat[T]() {
		return T(float32(math.Sqrt(float64(x)))) // compiled to one single-precision instruction
	}
	return T(math.Sqrt(float64(x)))
}

// normalOf returns Φ(x), the normal distribution's, and e^(−x²/2).
func normalOf[T float](x T) (phi, bell T) {
	if narrowFloat[T]() {
		p, b := normal32(float32(x))
		return T(p), T(b)
	}
	return T(0.5 + 0.5*math.Erf(float64(x)/math.Sqrt2)), T(math.Exp(-0.5 * float64(x) * float64(x)))
}

// normal32 takes the tail Φ(−|x|) from formula 7.1.26 of Abramowitz and Stegun,
// whose error is below 1e-7 and goes to 0 with the tail:
// a polynomial in t = 1/(1 + p·|x|/√2), times e^(−x²/2).
func normal32(x float32) (phi, bell float32) {
	bell = exp32(-0.5 * x * x)
	magnitude := math.Float32frombits(math.Float32bits(x) &^ (1 << 31))
	t := 1 / (magnitude*(0.3275911*math.Sqrt2/2) + 1)
	p := float32(1.061405429 / 2)
	p = p*t + -1.453152027/2
	p = p*t + 1.421413741/2
	p = p*t + -0.284496736/2
	p = p*t + 0.254829592/2
	tail := p * t * bell
	if math.Signbit(float64(x)) {
		return tail, bell
	}
	return 1 - tail, bell
}

func logarithm[T float](x float64) T { return T(math.Log(x)) }
