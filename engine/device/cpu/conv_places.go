package cpu

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

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

// unfolding is the matrix of the inputs that places read from one group of X.
type unfolding struct {
	p     *device.ConvPlan
	taps  []tap
	x     view
	first int // channel of the group
}

func (j *convJob) unfoldingOf(x view, group int) unfolding {
	return unfolding{&j.plan, j.taps, x, group * j.plan.InGroup}
}

// line implements lines.
func (u *unfolding) line(w *worker, dst []float32, row, place int) {
	p, t := u.p, &u.taps[row%len(u.taps)]
	size := p.OutRows * p.OutColumns
	channel := place/size*p.InChannels + u.first + row/len(u.taps)
	for place %= size; len(dst) > 0; place = 0 {
		n, images := min(len(dst), size-place), 1
		if n == size && sifts(p) {
			images = u.images(w, t, dst, channel)
		} else {
			top, rows := t.rows(p, place/p.OutColumns, (place+n-1)/p.OutColumns)
			image := load[float32](w, slotA, u.x, (channel*p.InHeight+top)*p.InWidth, rows*p.InWidth)
			unfoldTap(p, t, dst[:n], image, top, place)
		}
		dst, channel = dst[n*images:], channel+p.InChannels*images
	}
}

// images sets dst to the inputs that a tap reads from the channels of whole
// images, and returns the number of images: all, or one if they are not stored in
// float32.
func (u *unfolding) images(w *worker, t *tap, dst []float32, channel int) int {
	p := u.p
	places, size := p.OutRows*p.OutColumns, p.InHeight*p.InWidth
	images, apart := 1, p.InChannels*size
	if u.x.kind == device.Float32 {
		images = len(dst) / places
	}
	if t.last-t.first < p.OutRows {
		clear(dst[:images*places])
	}
	if t.first < t.last {
		top, rows := t.rows(p, t.first, t.last-1)
		from := load[float32](w, slotA, u.x, channel*size+top*p.InWidth, (images-1)*apart+rows*p.InWidth)
		t.sift.Rows(dst[t.first*p.OutColumns:], from, &simd.Grid{
			Rows: t.last - t.first, Groups: images, RowTo: p.OutColumns, RowFrom: p.StrideHeight * p.InWidth,
			GroupTo: places, GroupFrom: apart,
		})
	}
	return images
}
