package simd

import "github.com/memtop/memtop/engine/device"

// WidenBFloat16 sets dst[i] to the value of the bfloat16 src[i], for all of
// src.
func WidenBFloat16(dst []float32, src []uint16) {
	done := whole(len(src))
	if done > 0 {
		widenBFloat16AVX(&dst[0], &src[0], done)
	}
	for i := done; i < len(src); i++ {
		dst[i] = device.BFloat16ToFloat32(src[i])
	}
}

// WidenFloat16 sets dst[i] to the value of the binary16 src[i], for all of src.
func WidenFloat16(dst []float32, src []uint16) {
	done := whole(len(src))
	if done > 0 {
		widenFloat16AVX(&dst[0], &src[0], done)
	}
	for i := done; i < len(src); i++ {
		dst[i] = device.Float16ToFloat32(src[i])
	}
}

// NarrowBFloat16 sets dst[i] to src[i] rounded to bfloat16, for all of src.
func NarrowBFloat16(dst []uint16, src []float32) {
	done := whole(len(src))
	if done > 0 {
		narrowBFloat16AVX(&dst[0], &src[0], done)
	}
	for i := done; i < len(src); i++ {
		dst[i] = device.Float32ToBFloat16(src[i])
	}
}

// NarrowFloat16 sets dst[i] to src[i] rounded to binary16, for all of src.
func NarrowFloat16(dst []uint16, src []float32) {
	done := whole(len(src))
	if done > 0 {
		narrowFloat16AVX(&dst[0], &src[0], done)
	}
	for i := done; i < len(src); i++ {
		dst[i] = device.Float32ToFloat16(src[i])
	}
}
