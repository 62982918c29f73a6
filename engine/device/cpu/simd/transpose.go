package simd

// Interleave writes the transpose of a strip of rows: dst[p·dstStride+i] =
// src[i·srcStride+p] for i < rows and p < k.
func Interleave(dst, src []float32, rows, k, dstStride, srcStride int) {
	done := 0
	if wide {
		done = interleaveWide(dst, src, rows, k, dstStride, srcStride)
	}
	for i := range rows {
		row := src[i*srcStride : i*srcStride+k]
		at := done*dstStride + i
		for _, x := range row[done:] {
			dst[at] = x
			at += dstStride
		}
	}
}

// interleaveWide does as much of k as whole blocks cover, and returns it. The
// last strip of rows overlaps the one before it, so that any number of rows
// from four on is covered without reading past them.
func interleaveWide(dst, src []float32, rows, k, dstStride, srcStride int) int {
	strip, turn := 8, transpose8
	if rows < 8 {
		strip, turn = 4, transpose4
	}
	blocks := k / strip
	if rows < strip || blocks == 0 {
		return 0
	}
	for i := 0; i < rows; i += strip {
		from := min(i, rows-strip)
		turn(&dst[from], &src[from*srcStride], blocks, dstStride, srcStride)
	}
	return blocks * strip
}
