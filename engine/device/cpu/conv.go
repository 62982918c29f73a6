package cpu

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu/simd"
)

// convJob holds the operands of a convolution's products, used again for each.
type convJob struct {
	plan      device.ConvPlan
	taps      []tap // of the kernel
	unfolding unfolding
	places    placed
	band      shifted // places from the first of a band on
}

// Conv2D implements device.Convolutions.
func (b *Backend) Conv2D(p device.ConvPlan) {
	j := &b.jobs.conv
	j.plan, j.taps = p, tapsOf(&p, j.taps)
	if p.Wide() {
		b.convWide(p)
		return
	}
	x, y, bias := b.resolve(p.X), b.resolve(p.Y), b.resolve(p.Bias)
	for group := range p.Groups {
		j.unfolding, j.places = j.unfoldingOf(x, group), placedIn(y, &p, group)
		g := product{
			a: b.resolve(p.GroupWeights(p.Weight, group)), lda: p.Unfolded, b: view{kind: device.Float32}, madeB: &j.unfolding,
			c: y, places: &j.places, m: p.OutGroup, n: p.Batch * p.OutRows * p.OutColumns, k: p.Unfolded, alpha: 1,
		}
		if !bias.absent() {
			g.bias = bias.at(group * p.OutGroup)
		}
		b.multiply(g)
	}
}

// Conv2DBackward implements device.Convolutions.
func (b *Backend) Conv2DBackward(g device.ConvBackwardPlan) {
	j := &b.jobs.conv
	j.plan, j.taps = g.ConvPlan, tapsOf(&g.ConvPlan, j.taps)
	if g.Wide() {
		b.convGradWide(&g)
		return
	}
	_, image, sums := g.Scratch()
	for group := range g.Groups {
		j.places = placedIn(b.resolve(g.DY), &g.ConvPlan, group)
		if !g.DWeight.Absent() {
			b.convWeightGrad(&g, group)
		}
		if !g.DX.Absent() {
			b.convInputGrad(&g, group, image)
		}
	}
	if !g.DBias.Absent() {
		b.convBiasGrad(&g, sums)
	}
}

// convWeightGrad sets a group of dweight to dy · unfoldedᵀ over all places.
func (b *Backend) convWeightGrad(g *device.ConvBackwardPlan, group int) {
	j := &b.jobs.conv
	j.unfolding = j.unfoldingOf(b.resolve(g.X), group)
	b.multiply(product{
		a: view{kind: device.Float32}, madeA: &j.places, b: view{kind: device.Float32}, madeB: &j.unfolding, transB: true,
		c: b.resolve(g.GroupWeights(g.DWeight, group)), ldc: g.Unfolded,
		m: g.OutGroup, n: g.Unfolded, k: g.Batch * g.OutRows * g.OutColumns, alpha: 1,
	})
}

// convInputGrad folds weightᵀ · dy: some images at a time, or a band of one.
func (b *Backend) convInputGrad(g *device.ConvBackwardPlan, group int, sums device.Array) {
	j := &b.jobs.conv
	size := g.OutRows * g.OutColumns
	weight, dx := b.resolve(g.GroupWeights(g.Weight, group)), b.resolve(g.DX)
	images := max(1, min(g.Batch, device.ConvBandBytes/4/g.Unfolded/size))
	for image := 0; image < g.Batch; image += images {
		n := min(images, g.Batch-image)
		for row := 0; row < g.OutRows; row += g.BandRows {
			rows := min(g.BandRows, g.OutRows-row)
			columns := n * rows * g.OutColumns
			unfolded := scratch[float32](b.pool.workers[0], slotUnfolded, g.Unfolded*columns)
			j.band = shifted{&j.places, image*size + row*g.OutColumns}
			b.multiply(product{
				a: weight, transA: true, lda: g.Unfolded, b: view{kind: device.Float32}, madeB: &j.band,
				c: viewOf(unfolded), ldc: columns, m: g.Unfolded, n: columns, k: g.OutGroup, alpha: 1,
			})
			b.jobs.places = placesJob{
				p: &j.plan, taps: j.taps, unfolded: unfolded, columns: columns, dx: dx, sums: b.resolve(sums),
				image: image, images: n, first: group * g.InGroup, row: row, rows: rows,
			}
			b.pool.run(&b.jobs.places, g.InGroup)
		}
	}
}

// shifted is placed from a place on.
type shifted struct {
	*placed
	from int
}

// line implements lines.
func (s *shifted) line(w *worker, dst []float32, row, place int) {
	s.placed.line(w, dst, row, s.from+place)
}

// placesJob folds the gradients of places back into the input elements that they
// read, in a range of images. A part is a channel, whose elements get their sums
// in a fixed order.
type placesJob struct {
	p                    *device.ConvPlan
	taps                 []tap
	unfolded             []float32 // Unfolded × columns
	columns              int
	dx, sums             view // sums are of one image between its bands
	image, images, first int
	row, rows            int
}

func (j *placesJob) run(w *worker, channel int) {
	p := j.p
	size, places := p.InHeight*p.InWidth, j.rows*p.OutColumns
	planes, apart := j.planes(w, channel)
	for image := 0; j.row == 0 && image < j.images; image++ {
		clear(planes[image*apart : image*apart+size])
	}
	for i := range j.taps {
		t, from := &j.taps[i], j.unfolded[(channel*len(j.taps)+i)*j.columns:]
		if sifts(p) {
			j.add(t, planes, from, apart)
			continue
		}
		for image := range j.images {
			foldTap(p, t, planes[image*apart:image*apart+size], from[image*places:(image+1)*places], j.row, j.rows)
		}
	}
	if j.dx.kind != device.Float32 && j.row+j.rows == p.OutRows {
		for image := range j.images {
			narrow(j.dx, j.at(image, channel), planes[image*apart:image*apart+size])
		}
	}
}

// add folds the gradients of a tap's places, of all images at once.
func (j *placesJob) add(t *tap, planes, from []float32, apart int) {
	p := j.p
	first, last := max(t.first, j.row), min(t.last, j.row+j.rows)
	if first < last {
		t.fold.Rows(planes[(t.y+first*p.StrideHeight)*p.InWidth:], from[(first-j.row)*p.OutColumns:], &simd.Grid{
			Rows: last - first, Groups: j.images, RowTo: p.StrideHeight * p.InWidth, RowFrom: p.OutColumns,
			GroupTo: apart, GroupFrom: j.rows * p.OutColumns,
		})
	}
}

// planes returns the place of a channel's sums of all images, and the distance
// from one image's to the next's.
func (j *placesJob) planes(w *worker, channel int) (planes []float32, apart int) {
	size := j.p.InHeight * j.p.InWidth
	switch {
	case j.dx.kind == device.Float32:
		apart = j.p.InChannels * size
		return slice[float32](j.dx, j.at(0, channel), (j.images-1)*apart+size), apart
	case j.rows == j.p.OutRows:
		return scratch[float32](w, slotA, j.images*size), size
	default:
		return slice[float32](j.sums, channel*size, size), size
	}
}

// at returns the start of an image's channel in dx.
func (j *placesJob) at(image, channel int) int {
	return ((j.image+image)*j.p.InChannels + j.first + channel) * j.p.InHeight * j.p.InWidth
}

// convBiasGrad sums dy over places, then over images.
func (b *Backend) convBiasGrad(g *device.ConvBackwardPlan, sums device.Array) {
	n := g.Batch * g.OutChannels
	sums = sums.Slice(0, n)
	b.Reduce(device.Sum, sums, g.DY, n, g.OutRows*g.OutColumns, 1)
	b.Reduce(device.Sum, g.DBias, sums, 1, g.Batch, g.OutChannels)
}
