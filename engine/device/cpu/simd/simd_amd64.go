//go:build !noasm

package simd

import "golang.org/x/sys/cpu"

//go:noescape
func productAVX2(k int, a, b, c *float32, stride int, add bool)

//go:noescape
func productAVX512(k int, a, b, c *float32, stride int, add bool)

//go:noescape
func productBFloat16(k int, a, b, c *float32, stride int, add bool)

//go:noescape
func pairAVX(dst *float32, low, high *uint16, n int)

//go:noescape
func transpose4(dst, src *float32, blocks, dstStride, srcStride int)

//go:noescape
func transpose8(dst, src *float32, blocks, dstStride, srcStride int)

//go:noescape
func spread6AVX(dst, src *float32, pieces, step int)

//go:noescape
func spread12AVX(dst, src *float32, pieces, step int)

//go:noescape
func spread16AVX(dst, src *float32, pieces, step int)

//go:noescape
func spread32AVX(dst, src *float32, pieces, step int)

//go:noescape
func siftAVX512(dst, src *float32, s *Sift, grid *Grid)

//go:noescape
func foldAVX512(dst, src *float32, s *Fold, grid *Grid)

//go:noescape
func widenBFloat16AVX(dst *float32, src *uint16, n int)

//go:noescape
func widenFloat16AVX(dst *float32, src *uint16, n int)

//go:noescape
func narrowBFloat16AVX(dst *uint16, src *float32, n int)

//go:noescape
func narrowFloat16AVX(dst *uint16, src *float32, n int)

//go:noescape
func addAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func mulAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func scaleAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func addScaledAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func standardizeAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func expAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func geluAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func geluSlopeAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func geluTanhAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func geluTanhSlopeAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func reluAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func reluSlopeAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func siluAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func siluSlopeAVX(dst, a, b *float32, alpha, beta float32, n int)

//go:noescape
func sumAVX(strands *[8]float64, x *float32, n int)

//go:noescape
func dotAVX(strands *[8]float64, x, y *float32, n int)

//go:noescape
func deviationAVX(strands *[8]float64, x *float32, n int, mean float64)

//go:noescape
func accumulateAVX(sums *float64, x *float32, n int)

//go:noescape
func accumulateProductsAVX(sums *float64, x, y *float32, n int)

//go:noescape
func maxAVX(lanes *[16]float32, x *float32, n int)

//go:noescape
func unscaleAVX(bad *[8]float32, x *float32, n int, factor float32)

//go:noescape
func adamAVX(p, gradient, m, v *float32, c *Adam, n int)

// wide says that the processor has AVX2 and FMA. All such processors also
// convert binary16 (F16C).
var wide = cpu.X86.HasAVX2 && cpu.X86.HasFMA

var sifts = cpu.X86.HasAVX512F

// Products returns the kernels that run on this processor, fastest first. The
// last is plain Go.
func Products() []Product {
	var found []Product
	if cpu.X86.HasAVX512F {
		found = append(found, Product{"AVX-512 12×32", 12, 32, 1, productAVX512})
	}
	if wide {
		found = append(found, Product{"AVX2 6×16", 6, 16, 1, productAVX2})
	}
	return append(found, plain)
}

// Pairs returns the kernel that multiplies packed pairs of bfloat16 numbers, if
// this processor has one.
func Pairs() (kernel Product, ok bool) {
	if !cpu.X86.HasAVX512F || !cpu.X86.HasAVX512BF16 {
		return Product{}, false
	}
	return Product{"AVX-512 BF16 12×32", 12, 32, 2, productBFloat16}, true
}
