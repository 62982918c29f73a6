// Package simd holds the few loops of the embedded device that are worth writing
// in assembly: the inner kernels of the matrix product, packing, and conversions
// to and from the 16-bit types. Every one has a plain Go form that gives the same
// result (the product's differs in rounding, for it lacks a fused multiply-add)
// and runs where the processor has no AVX2.
//
// The build tag noasm leaves the plain forms alone, to test them.
//
// It knows nothing of devices, types or threads. All functions are safe for
// concurrent use on disjoint outputs, and never allocate.
package simd

//go:generate go run ../../../../cmd/tools/simdgen simd_amd64.s

// Product is a micro-kernel of the matrix product on a tile of Rows × Cols
// numbers.
//
// Run sets c[i·stride+j] to Σ a[p·Rows+i]·b[p·Cols+j] over p from 0 to k−1, plus
// what c held when add is set. a and b are packed panels. Sums run in the order
// of p, by fused multiply-add in the assembly kernels, so these agree to the bit.
type Product struct {
	Name       string
	Rows, Cols int
	// InWord is how many numbers along K share 32 bits of a panel: 1, or 2 of a
	// kernel for bfloat16, whose k counts words.
	InWord int
	Run    func(k int, a, b, c *float32, stride int, add bool)
}

// Words returns how many words of a panel so many numbers along K are.
func (p Product) Words(k int) int { return (k + p.InWord - 1) / p.InWord }

// Best returns the fastest kernel of this processor.
func Best() Product {
	return Products()[0]
}
