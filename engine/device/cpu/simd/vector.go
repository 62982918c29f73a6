package simd

import "math"

// The functions of this file do the first elements of a run, a multiple of
// eight and possibly none, and return how many: the caller's loop does the
// rest, with the same operations in the same order. Operands are as long as
// dst.

// whole returns the elements of n that whole registers cover.
func whole(n int) int {
	if !wide {
		return 0
	}
	return n &^ 7
}

// loop is one of the loops in assembly, over n elements. b may be nil, where it is not
// used.
type loop = func(dst, a, b *float32, alpha, beta float32, n int)

func unary(do loop, dst, a []float32, alpha, beta float32) int {
	n := whole(len(dst))
	if n > 0 {
		do(&dst[0], &a[:n][0], nil, alpha, beta, n)
	}
	return n
}

func binary(do loop, dst, a, b []float32, alpha float32) int {
	n := whole(len(dst))
	if n > 0 {
		do(&dst[0], &a[:n][0], &b[:n][0], alpha, 0, n)
	}
	return n
}

// Add sets dst = a + b.
func Add(dst, a, b []float32) int { return binary(addAVX, dst, a, b, 0) }

// Mul sets dst = a · b.
func Mul(dst, a, b []float32) int { return binary(mulAVX, dst, a, b, 0) }

// Scale sets dst = factor · a.
func Scale(dst, a []float32, factor float32) int { return unary(scaleAVX, dst, a, factor, 0) }

// AddScaled sets dst = a + alpha · b.
func AddScaled(dst, a, b []float32, alpha float32) int { return binary(addScaledAVX, dst, a, b, alpha) }

// Standardize sets dst = (a − mean) · factor.
func Standardize(dst, a []float32, mean, factor float32) int {
	return unary(standardizeAVX, dst, a, mean, factor)
}

// Exp sets dst = e^(scale·a − shift), within two units in the last place;
// results below 2^-126 are 0.
func Exp(dst, a []float32, scale, shift float32) int { return unary(expAVX, dst, a, scale, shift) }

// GELUTanh sets dst to GELU of a by its approximation with tanh.
func GELUTanh(dst, a []float32) int { return unary(geluTanhAVX, dst, a, 0, 0) }

// GELUTanhSlope sets dst to b times the derivative of GELUTanh at a.
func GELUTanhSlope(dst, a, b []float32) int { return binary(geluTanhSlopeAVX, dst, a, b, 0) }

// GELU sets dst to GELU of a.
func GELU(dst, a []float32) int { return unary(geluAVX, dst, a, 0, 0) }

// GELUSlope sets dst to b times the derivative of GELU at a.
func GELUSlope(dst, a, b []float32) int { return binary(geluSlopeAVX, dst, a, b, 0) }

// ReLU sets dst to a, or 0 where a is below it.
func ReLU(dst, a []float32) int { return unary(reluAVX, dst, a, 0, 0) }

// ReLUSlope sets dst to b, or 0 where a is not above it.
func ReLUSlope(dst, a, b []float32) int { return binary(reluSlopeAVX, dst, a, b, 0) }

// SiLU sets dst to a/(1+e^-a).
func SiLU(dst, a []float32) int { return unary(siluAVX, dst, a, 0, 0) }

// SiLUSlope sets dst to b times the derivative of SiLU at a.
func SiLUSlope(dst, a, b []float32) int { return binary(siluSlopeAVX, dst, a, b, 0) }

// Adam holds the constants of one step of Adam:
//
//	d = g + Coupled·p; m = Beta1·m + Rest1·d; v = Beta2·v + Rest2·d·d
//	p = p·Shrink − Size·m/(√v·Root + Eps)
type Adam struct {
	Coupled, Beta1, Rest1, Beta2, Rest2, Root, Eps, Size, Shrink float32
}

// Step does the step on p, m and v.
func (c *Adam) Step(p, g, m, v []float32) int {
	n := whole(len(p))
	if n > 0 {
		adamAVX(&p[0], &g[:n][0], &m[:n][0], &v[:n][0], c, n)
	}
	return n
}

// Sum sets strands to sums of the elements: element i goes to strand i mod 8.
func Sum(strands *[8]float64, x []float32) int {
	n := whole(len(x))
	if n > 0 {
		sumAVX(strands, &x[0], n)
	}
	return n
}

// Dot sets strands to the sums of the products x·y, as Sum does.
func Dot(strands *[8]float64, x, y []float32) int {
	n := whole(len(x))
	if n > 0 {
		dotAVX(strands, &x[0], &y[:n][0], n)
	}
	return n
}

// Deviation sets strands to the sums of (x−mean)², as Sum does.
func Deviation(strands *[8]float64, x []float32, mean float64) int {
	n := whole(len(x))
	if n > 0 {
		deviationAVX(strands, &x[0], n, mean)
	}
	return n
}

// Accumulate adds x to sums.
func Accumulate(sums []float64, x []float32) int {
	n := whole(len(x))
	if n > 0 {
		accumulateAVX(&sums[:n][0], &x[0], n)
	}
	return n
}

// AccumulateProducts adds x·y to sums.
func AccumulateProducts(sums []float64, x, y []float32) int {
	n := whole(len(x))
	if n > 0 {
		accumulateProductsAVX(&sums[:n][0], &x[0], &y[:n][0], n)
	}
	return n
}

// Max returns the largest of the elements that it looked at, NaN when there is
// one among them, and −Inf when it looked at none.
func Max(x []float32) (largest float32, done int) {
	n := whole(len(x))
	largest = float32(math.Inf(-1))
	if n == 0 {
		return largest, 0
	}
	var lanes [16]float32
	maxAVX(&lanes, &x[0], n)
	for i := range 8 {
		if math.Float32bits(lanes[8+i]) != 0 {
			return float32(math.NaN()), n
		}
		largest = max(largest, lanes[i])
	}
	return largest, n
}

// Unscale multiplies x by factor, and says whether what it looked at was
// finite.
func Unscale(x []float32, factor float32) (finite bool, done int) {
	n := whole(len(x))
	if n == 0 {
		return true, 0
	}
	var bad [8]float32
	unscaleAVX(&bad, &x[0], n, factor)
	return bad == [8]float32{}, n
}
