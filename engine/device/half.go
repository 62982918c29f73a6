package device

import "math"

// BFloat16ToFloat32 returns the value of a bfloat16 bit pattern: it is the
// upper half of a float32, so the conversion is exact, NaN payloads included.
func BFloat16ToFloat32(bits uint16) float32 {
	return math.Float32frombits(uint32(bits) << 16)
}

// Float32ToBFloat16 rounds to the nearest bfloat16, ties to even. Values beyond
// the largest one become infinities; a NaN stays a NaN and becomes quiet.
func Float32ToBFloat16(f float32) uint16 {
	b := math.Float32bits(f)
	if b&0x7fffffff > 0x7f800000 {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// Float16ToFloat32 returns the value of an IEEE 754 binary16 bit pattern. Every
// one is exact in float32; a signalling NaN becomes quiet, as the processors'
// own conversions do.
func Float16ToFloat32(bits uint16) float32 {
	sign := uint32(bits&0x8000) << 16
	magnitude := uint32(bits & 0x7fff)
	switch {
	case magnitude > 0x7c00:
		return math.Float32frombits(sign | 0x7fc00000 | magnitude<<13)
	case magnitude == 0x7c00:
		return math.Float32frombits(sign | 0x7f800000)
	case magnitude >= 0x0400:
		return math.Float32frombits(sign | magnitude<<13 + (127-15)<<23)
	}
	// A subnormal is a count of 2^-24, and so is exact as a product.
	return math.Float32frombits(sign | math.Float32bits(float32(magnitude)*0x1p-24))
}

// Float32ToFloat16 rounds to the nearest binary16, ties to even: beyond 65,504
// by half a unit or more to infinity, below 2^-14 to a multiple of 2^-24. A NaN
// stays a NaN, keeps the top of its payload and becomes quiet.
func Float32ToFloat16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00 | uint16(b>>13&0x3ff)
	case b >= 0x47800000: // 65,536 and above, infinity included
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14
		// Adding one half leaves exactly ten bits after the binary point of
		// 2^-14, so the processor's own rounding does the work.
		rounded := math.Float32frombits(b) + 0.5
		return sign | uint16(math.Float32bits(rounded)-math.Float32bits(0.5))
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-(127-15)<<23)>>13)
}
