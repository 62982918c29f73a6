//go:build !amd64 || noasm

package simd

const wide, sifts = false, false

// Products returns the kernels that run on this processor, fastest first. The
// last is plain Go.
func Products() []Product {
	return []Product{plain}
}

// Pairs returns the kernel that multiplies packed pairs of bfloat16 numbers, if
// this processor has one.
func Pairs() (kernel Product, ok bool) { return Product{}, false }

func pairAVX(_ *float32, _, _ *uint16, _ int)                  {}
func transpose4(_, _ *float32, _, _, _ int)                    {}
func transpose8(_, _ *float32, _, _, _ int)                    {}
func spread6AVX(_, _ *float32, _, _ int)                       {}
func spread12AVX(_, _ *float32, _, _ int)                      {}
func spread16AVX(_, _ *float32, _, _ int)                      {}
func spread32AVX(_, _ *float32, _, _ int)                      {}
func siftAVX512(_, _ *float32, _ *Sift, _ *Grid)               {}
func foldAVX512(_, _ *float32, _ *Fold, _ *Grid)               {}
func widenBFloat16AVX(_ *float32, _ *uint16, _ int)            {}
func widenFloat16AVX(_ *float32, _ *uint16, _ int)             {}
func narrowBFloat16AVX(_ *uint16, _ *float32, _ int)           {}
func narrowFloat16AVX(_ *uint16, _ *float32, _ int)            {}
func sumAVX(_ *[8]float64, _ *float32, _ int)                  {}
func dotAVX(_ *[8]float64, _, _ *float32, _ int)               {}
func deviationAVX(_ *[8]float64, _ *float32, _ int, _ float64) {}
func accumulateAVX(_ *float64, _ *float32, _ int)              {}
func accumulateProductsAVX(_ *float64, _, _ *float32, _ int)   {}
func maxAVX(_ *[16]float32, _ *float32, _ int)                 {}
func adamAVX(_, _, _, _ *float32, _ *Adam, _ int)              {}
func unscaleAVX(_ *[8]float32, _ *float32, _ int, _ float32)   {}

// Nothing calls these, for no run is wide.
var (
	addAVX, mulAVX, scaleAVX, addScaledAVX, standardizeAVX, expAVX loop
	geluAVX, geluSlopeAVX, geluTanhAVX, geluTanhSlopeAVX           loop
	reluAVX, reluSlopeAVX, siluAVX, siluSlopeAVX                   loop
)
