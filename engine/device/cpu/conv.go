package cpu

import "memtop/engine/device"

// convJob holds the operands of a convolution's products, used again for each.
type convJob struct {
	plan      device.ConvPlan
	unfolding unfolding
	places    placed
	band      shifted // places from the first of a band on
}

// Conv2D implements device.Convolutions.
func (b *Backend) Conv2D(p device.ConvPlan) {
	if p.Wide() {
		b.convWide(p)
		return
	}
	j := &b.jobs.conv
	j.plan = p
	x, y, bias := b.resolve(p.X), b.resolve(p.Y), b.resolve(p.Bias)
	for group := range p.Groups {
		j.unfolding, j.places = unfoldingOf(&j.plan, x, group), placedIn(y, &p, group)
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
	if g.Wide() {
		b.convGradWide(&g)
		return
	}
	j := &b.jobs.conv
	j.plan = g.ConvPlan
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
	j.unfolding = unfoldingOf(&j.plan, b.resolve(g.X), group)
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
				p: &j.plan, unfolded: unfolded, columns: columns, dx: dx, sums: b.resolve(sums),
				image: image, first: group * g.InGroup, row: row, rows: rows,
			}
			b.pool.run(&b.jobs.places, n*g.InGroup)
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

// placesJob folds what places gave back to what they saw, in images from one on; a
// part is a channel of an image, whose elements get their sums in one order.
type placesJob struct {
	p                       *device.ConvPlan
	unfolded                []float32 // Unfolded × columns
	columns                 int
	dx, sums                view // sums are of one image between its bands
	image, first, row, rows int
}

func (j *placesJob) run(w *worker, part int) {
	p := j.p
	size := p.InHeight * p.InWidth
	image, channel := part/p.InGroup, part%p.InGroup
	at := ((j.image+image)*p.InChannels + j.first + channel) * size
	whole := j.rows == p.OutRows
	var to []float32
	switch {
	case j.dx.kind == device.Float32:
		to = slice[float32](j.dx, at, size)
	case whole:
		to = scratch[float32](w, slotA, size)
	default:
		to = slice[float32](j.sums, channel*size, size)
	}
	if j.row == 0 {
		clear(to)
	}
	places := j.rows * p.OutColumns
	taps := p.KernelHeight * p.KernelWidth
	for tap := range taps {
		from := j.unfolded[(channel*taps+tap)*j.columns+image*places:]
		foldTap(p, to, from[:places], tap, j.row, j.rows)
	}
	if j.dx.kind != device.Float32 && j.row+j.rows == p.OutRows {
		narrow(j.dx, at, to)
	}
}

// convBiasGrad sums dy over places, then over images.
func (b *Backend) convBiasGrad(g *device.ConvBackwardPlan, sums device.Array) {
	n := g.Batch * g.OutChannels
	sums = sums.Slice(0, n)
	b.Reduce(device.Sum, sums, g.DY, n, g.OutRows*g.OutColumns, 1)
	b.Reduce(device.Sum, g.DBias, sums, 1, g.Batch, g.OutChannels)
}
