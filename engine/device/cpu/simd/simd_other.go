//go:build !amd64

package simd

const wide = false

// Products returns the kernels that run on this processor, fastest first. The
// last is plain Go.
func Products() []Product {
	return []Product{plain}
}

func transposeAVX(_, _ *float32, _, _, _ int)        {}
func widenBFloat16AVX(_ *float32, _ *uint16, _ int)  {}
func widenFloat16AVX(_ *float32, _ *uint16, _ int)   {}
func narrowBFloat16AVX(_ *uint16, _ *float32, _ int) {}
func narrowFloat16AVX(_ *uint16, _ *float32, _ int)  {}
