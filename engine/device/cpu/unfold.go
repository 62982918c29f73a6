package cpu

import "memtop/engine/device"

// inputRow returns the input row that a tap meets at an output row; it may be
// in the padding.
func inputRow(p *device.ConvPlan, row, tap int) int {
	return row*p.StrideHeight - p.PadHeight + tap/p.KernelWidth*p.DilateHeight
}

// inputSpan returns the output columns for which a tap is inside of the image,
// and the input column that it meets at the first.
func inputSpan(p *device.ConvPlan, tap int) (from, to, x int) {
	x = tap%p.KernelWidth*p.DilateWidth - p.PadWidth
	if x < 0 {
		from = (-x + p.StrideWidth - 1) / p.StrideWidth
	}
	to = from
	if first := x + from*p.StrideWidth; first < p.InWidth {
		to = min(p.OutColumns, from+(p.InWidth-first+p.StrideWidth-1)/p.StrideWidth)
	}
	return min(from, p.OutColumns), max(to, min(from, p.OutColumns)), x + from*p.StrideWidth
}

// unfoldTap sets dst to what output rows from row on see by a tap.
func unfoldTap[T float](p *device.ConvPlan, dst, image []T, tap, row, rows int) {
	from, to, x := inputSpan(p, tap)
	for r := range rows {
		line := dst[r*p.OutColumns : (r+1)*p.OutColumns]
		y := inputRow(p, row+r, tap)
		if y < 0 || y >= p.InHeight {
			clear(line)
			continue
		}
		clear(line[:from])
		clear(line[to:])
		src := image[y*p.InWidth : (y+1)*p.InWidth]
		for i := from; i < to; i++ {
			line[i] = src[x+(i-from)*p.StrideWidth]
		}
	}
}

// foldTap adds src to what output rows from row on saw by a tap.
func foldTap[T float](p *device.ConvPlan, image, src []T, tap, row, rows int) {
	from, to, x := inputSpan(p, tap)
	for r := range rows {
		y := inputRow(p, row+r, tap)
		if y < 0 || y >= p.InHeight || from == to {
			continue
		}
		line := src[r*p.OutColumns+from : r*p.OutColumns+to]
		dst := image[y*p.InWidth+x : (y+1)*p.InWidth]
		for i, v := range line {
			dst[i*p.StrideWidth] += v
		}
	}
}
