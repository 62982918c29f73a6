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

// Spread copies pieces of width numbers, which follow each other in src, to dst, step
// numbers apart. The last piece may be shorter.
func Spread(dst, src []float32, width, step int) {
	if pieces := len(src) / width; wide && pieces > 0 && spreadWide(&dst[:(pieces-1)*step+width][0], &src[0], pieces, width, step) {
		src = src[pieces*width:]
		dst = dst[min(pieces*step, len(dst)):]
	}
	for at := 0; len(src) > 0; at += step {
		src = src[copy(dst[at:at+width], src):]
	}
}

// spreadWide does whole pieces, of widths that tiles have.
func spreadWide(dst, src *float32, pieces, width, step int) bool {
	switch width {
	case 6:
		spread6AVX(dst, src, pieces, step)
	case 12:
		spread12AVX(dst, src, pieces, step)
	case 16:
		spread16AVX(dst, src, pieces, step)
	case 32:
		spread32AVX(dst, src, pieces, step)
	default:
		return false
	}
	return true
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
