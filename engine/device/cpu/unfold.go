package cpu

import "memtop/engine/device"

// tap is one element of a convolution's kernel, and what it meets of an image.
type tap struct {
	from, to int // the output columns for which it is inside of the image
	x        int // the input column that it meets at the first of them
	y        int // the input row at the first output row; may be in the padding
}

func tapOf(p *device.ConvPlan, number int) tap {
	t := tap{x: number%p.KernelWidth*p.DilateWidth - p.PadWidth, y: number/p.KernelWidth*p.DilateHeight - p.PadHeight}
	if t.x < 0 {
		t.from = min(p.OutColumns, (-t.x+p.StrideWidth-1)/p.StrideWidth)
	}
	t.x += t.from * p.StrideWidth
	t.to = t.from
	if t.x < p.InWidth {
		t.to = min(p.OutColumns, t.from+(p.InWidth-t.x+p.StrideWidth-1)/p.StrideWidth)
	}
	return t
}

// rows returns the input rows that it meets between two output rows.
func (t *tap) rows(p *device.ConvPlan, first, last int) (top, rows int) {
	top = min(max(t.y+first*p.StrideHeight, 0), p.InHeight)
	return top, max(0, min(t.y+last*p.StrideHeight+1, p.InHeight)-top)
}

// tapsOf returns the taps of a kernel in list, in order.
func tapsOf(p *device.ConvPlan, list []tap) []tap {
	list = list[:0]
	for number := range p.KernelHeight * p.KernelWidth {
		list = append(list, tapOf(p, number))
	}
	return list
}

// unfoldTap sets dst to what the output elements from a place on see by a tap of an
// image, of which there are the rows from top on.
func unfoldTap[T float](p *device.ConvPlan, t *tap, dst, image []T, top, place int) {
	column, stride := place%p.OutColumns, p.StrideWidth
	for y := t.y + place/p.OutColumns*p.StrideHeight; len(dst) > 0; y += p.StrideHeight {
		line := dst[:min(len(dst), p.OutColumns-column)]
		dst = dst[len(line):]
		from, to := max(t.from-column, 0), min(t.to-column, len(line))
		if y < 0 || y >= p.InHeight || from >= to {
			clear(line)
			column = 0
			continue
		}
		for i := range from {
			line[i] = 0
		}
		at := (y-top)*p.InWidth + t.x + (column+from-t.from)*stride
		for i := from; i < to; i++ {
			line[i] = image[at]
			at += stride
		}
		for i := to; i < len(line); i++ {
			line[i] = 0
		}
		column = 0
	}
}

// foldTap adds src to what output rows from row on saw by a tap of a whole image.
func foldTap[T float](p *device.ConvPlan, t *tap, image, src []T, row, rows int) {
	stride := p.StrideWidth
	for r := range rows {
		y := t.y + (row+r)*p.StrideHeight
		if y < 0 || y >= p.InHeight {
			continue
		}
		at := y*p.InWidth + t.x
		for _, v := range src[r*p.OutColumns+t.from : r*p.OutColumns+t.to] {
			image[at] += v
			at += stride
		}
	}
}
