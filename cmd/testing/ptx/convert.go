package ptx

import "math"

// convert is a conversion as Go has it: integers are cut or extended, numbers rounded
// to the nearest, of two to the even one.
func convert[D, S number](d, a, _, _ *lanes) {
	for i := range d {
		out(d, i, D(in[S](a, i)))
	}
}

// truncate rounds toward 0. What is out of range becomes the nearest integer, and what
// is no number becomes 0, or the least integer where 64 bits are involved.
func truncate[D int32 | int64, S float](least, most D, none D) operation {
	return func(d, a, _, _ *lanes) {
		for i := range d {
			x := float64(in[S](a, i))
			switch {
			case x != x:
				out(d, i, none)
			case x <= float64(least):
				out(d, i, least)
			case x >= float64(most):
				out(d, i, most)
			default:
				out(d, i, D(x))
			}
		}
	}
}

// fromHalf is exact.
func fromHalf(d, a, _, _ *lanes) {
	for i := range d {
		out(d, i, half(uint16(a[i])))
	}
}

// half returns a number of binary16.
func half(bits uint16) float32 {
	sign, exponent, fraction := uint32(bits>>15)<<31, uint32(bits>>10&31), uint32(bits&1023)
	switch exponent {
	case 0:
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// halfOf rounds to binary16.
func halfOf(x float32) uint16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	size := bits &^ (1 << 31)
	switch {
	case x != x:
		return 0x7fff
	case size >= 0x477ff000: // 65520, half way from the largest number to what would be next
		return sign | 0x7c00
	case size < 0x38800000: // below 2^-14 the last bit is 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(size))*0x1p24))
	}
	return sign | uint16(nearest(size-112<<23, 13))
}

// bfloatOf rounds to bfloat16.
func bfloatOf(x float32) uint16 {
	if x != x {
		return 0x7fff
	}
	return uint16(nearest(math.Float32bits(x), 16))
}

// nearest drops bits, rounding to the nearest, of two to the even one.
func nearest(bits uint32, drop int) uint32 {
	return (bits + 1<<(drop-1) - 1 + bits>>drop&1) >> drop
}

// narrow converts float32 to 16 bits, and pair two of them, the first into the upper half.
func narrow(to func(float32) uint16) operation {
	return func(d, a, _, _ *lanes) {
		for i := range d {
			out(d, i, to(in[float32](a, i)))
		}
	}
}

func pair(to func(float32) uint16) operation {
	return func(d, a, b, _ *lanes) {
		for i := range d {
			out(d, i, uint32(to(in[float32](a, i)))<<16|uint32(to(in[float32](b, i))))
		}
	}
}
