package simd

import "math"

// Pair sets the words of dst: the bits of low are their lower halves, those of high
// their upper ones. A product of pairs reads them so.
func Pair(dst []float32, low, high []uint16) {
	n := whole(len(dst))
	if n > 0 {
		pairAVX(&dst[0], &low[:n][0], &high[:n][0], n)
	}
	for i := n; i < len(dst); i++ {
		dst[i] = math.Float32frombits(uint32(low[i]) | uint32(high[i])<<16)
	}
}
