package cpu

import (
	"math"

	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// Sums are carried in float64 and in eight strands, element i in strand i mod
// 8, which are added at the end: always in the same order for the same length,
// in assembly or not.

// strands are the partial sums of a row.
type strands [8]float64

func (s *strands) total() float64 {
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

func sum[T float](x []T) float64 {
	var s strands
	done := simd.Sum((*[8]float64)(&s), single(x))
	for i, v := range x[done:] {
		s[i%8] += float64(v)
	}
	return s.total()
}

func dot[T float](x, y []T) float64 {
	var s strands
	y = y[:len(x)]
	done := simd.Dot((*[8]float64)(&s), single(x), single(y))
	x, y = x[done:], y[done:]
	for i, v := range x {
		s[i%8] += float64(v) * float64(y[i])
	}
	return s.total()
}

// deviation returns Σ (x−mean)².
func deviation[T float](x []T, mean float64) float64 {
	var s strands
	done := simd.Deviation((*[8]float64)(&s), single(x), mean)
	for i, v := range x[done:] {
		s[i%8] += (float64(v) - mean) * (float64(v) - mean)
	}
	return s.total()
}

// maximum returns the largest of x, and NaN when there is one.
func maximum[T float](x []T) T {
	largest, done := simd.Max(single(x))
	m := T(largest)
	if done == 0 {
		m = T(math.Inf(-1))
	}
	for _, v := range x[done:] {
		if v > m || v != v {
			m = v
		}
		if m != m {
			break
		}
	}
	return m
}

// accumulate adds each element of x to a sum of its own.
func accumulate[T float](sums []float64, x []T) {
	x = x[:len(sums)]
	for i := simd.Accumulate(sums, single(x)); i < len(x); i++ {
		sums[i] += float64(x[i])
	}
}

// accumulateProducts adds each element of x·y to a sum of its own.
func accumulateProducts[T float](sums []float64, x, y []T) {
	x, y = x[:len(sums)], y[:len(sums)]
	for i := simd.AccumulateProducts(sums, single(x), single(y)); i < len(x); i++ {
		sums[i] += float64(x[i]) * float64(y[i])
	}
}
