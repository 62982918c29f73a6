package cpu

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// tap is one element of a convolution's kernel, and what it meets of an image.
type tap struct {
	from, to    int // the output columns for which it is inside of the image
	first, last int // the output rows
	x           int // the input column that it meets at the first of the columns
	y           int // the input row at output row 0; may be in the padding
	sift        simd.Sift
	fold        simd.Fold
}

func tapOf(p *device.ConvPlan, number int) tap {
	x, y := number%p.KernelWidth*p.DilateWidth-p.PadWidth, number/p.KernelWidth*p.DilateHeight-p.PadHeight
	t := tap{y: y}
	t.from, t.to = inside(x, p.StrideWidth, p.InWidth, p.OutColumns)
	t.first, t.last = inside(y, p.StrideHeight, p.InHeight, p.OutRows)
	t.x = x + t.from*p.StrideWidth
	if sifts(p) {
		meets := func(i int) int { return x + i*p.StrideWidth }
		t.sift, t.fold = simd.NewSift(p.InWidth, p.OutColumns, meets), simd.NewFold(p.InWidth, p.OutColumns, meets)
	}
	return t
}

func sifts(p *device.ConvPlan) bool { return simd.Sifts(p.InWidth, p.OutColumns) }

// inside returns which of n places, stride apart, are in [0, size) when the first is
// at.
func inside(at, stride, size, n int) (from, to int) {
	if at < 0 {
		from = min(n, (stride-1-at)/stride)
	}
	if at += from * stride; at >= size {
		return from, from
	}
	return from, min(n, from+(size-at+stride-1)/stride)
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
		if stride == 1 {
			copy(line[from:to], image[at:])
		} else {
			every(line[from:to], image[at:], stride)
		}
		for i := to; i < len(line); i++ {
			line[i] = 0
		}
		column = 0
	}
}

// every sets dst to every stride-th number of src.
func every[T float](dst, src []T, stride int) {
	for i := range dst {
		dst[i] = src[i*stride]
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
