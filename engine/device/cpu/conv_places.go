package cpu

import "memtop/engine/device"

// # Convolution as one product
//
// In float32 a convolution is one product for each group: weight · unfolded, where
// a column of unfolded is a place, an element of the output of one of the images,
// and row (c, kh, kw) has the input element that the kernel's element (c, kh, kw)
// meets there, or 0. Backwards, dweight = dy · unfoldedᵀ, and dx is folded from
// weightᵀ · dy. Neither unfolded nor dy by places is stored: their rows are made
// while they are packed. The places of all images follow each other, so that small
// images fill the tiles.

// placed is one group of an array laid out as [images, channels, size], as a matrix
// of the group's channels by the places of all images.
type placed struct {
	v        view
	channels int // of all groups
	first    int // channel of the group
	size     int // places of an image
}

func placedIn(v view, p *device.ConvPlan, group int) placed {
	return placed{v, p.OutChannels, group * p.OutGroup, p.OutRows * p.OutColumns}
}

// run returns where the element of a row at a place lies, and how many of n places
// from there on lie one after the other.
func (l *placed) run(row, place, n int) (at, count int) {
	image, place := place/l.size, place%l.size
	return (image*l.channels+l.first+row)*l.size + place, min(n, l.size-place)
}

// line implements lines.
func (l *placed) line(w *worker, dst []float32, row, place int) {
	for len(dst) > 0 {
		at, n := l.run(row, place, len(dst))
		copy(dst[:n], load[float32](w, slotA, l.v, at, n))
		dst, place = dst[n:], place+n
	}
}

// store puts rows from i on of the places from j to j+n where they belong, and
// adds the bias of each row.
func (l *placed) store(w *worker, g *product, held []float32, stride, i, rows, j, n int) {
	for r := range rows {
		x := held[r*stride : r*stride+n]
		if !g.bias.absent() {
			bias := load[float32](w, slotWiden, g.bias, i+r, 1)[0]
			for k := range x {
				x[k] += bias
			}
		}
		for place := j; len(x) > 0; {
			at, n := l.run(i+r, place, len(x))
			narrow(l.v, at, x[:n])
			x, place = x[n:], place+n
		}
	}
}

// unfolding is the matrix of what places see of one group of X.
type unfolding struct {
	p     *device.ConvPlan
	x     view
	first int // channel of the group
}

func unfoldingOf(p *device.ConvPlan, x view, group int) unfolding {
	return unfolding{p, x, group * p.InGroup}
}

// line implements lines.
func (u *unfolding) line(w *worker, dst []float32, row, place int) {
	p := u.p
	taps := p.KernelHeight * p.KernelWidth
	channel, tap := u.first+row/taps, row%taps
	inside, end, x := inputSpan(p, tap)
	size := p.OutRows * p.OutColumns
	image, rest := place/size, place%size
	y, column := rest/p.OutColumns, rest%p.OutColumns
	for len(dst) > 0 {
		n := min(len(dst), p.OutColumns-column)
		part := dst[:n]
		from, to := max(inside, column), min(end, column+n)
		if in := inputRow(p, y, tap); in < 0 || in >= p.InHeight || from >= to {
			clear(part)
		} else {
			at := ((image*p.InChannels+channel)*p.InHeight+in)*p.InWidth + x + (from-inside)*p.StrideWidth
			u.seen(w, part, from-column, to-column, at)
		}
		dst, column, y = dst[n:], 0, y+1
		if y == p.OutRows {
			image, y = image+1, 0
		}
	}
}

// seen sets dst to what it sees of X: from one place to another the input from an
// element on, zeros around them.
func (u *unfolding) seen(w *worker, dst []float32, from, to, at int) {
	if from > 0 {
		clear(dst[:from])
	}
	if to < len(dst) {
		clear(dst[to:])
	}
	stride, dst := u.p.StrideWidth, dst[from:to]
	n := (len(dst)-1)*stride + 1
	if u.x.kind == device.Float32 {
		spread(dst, slice[float32](u.x, at, n), stride)
	} else {
		spread(dst, load[float32](w, slotA, u.x, at, n), stride)
	}
}

// spread sets dst to every stride-th number of src.
func spread(dst, src []float32, stride int) {
	switch stride {
	case 1:
		copy(dst, src)
	case 2:
		for i := range dst {
			dst[i] = src[2*i]
		}
	default:
		for i := range dst {
			dst[i] = src[i*stride]
		}
	}
}
