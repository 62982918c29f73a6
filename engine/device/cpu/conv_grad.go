package cpu

import "memtop/engine/device"

// Conv2DBackward implements device.Convolutions.
func (b *Backend) Conv2DBackward(g device.ConvBackwardPlan) {
	unfolded, image, sums := g.Scratch()
	p := &b.conv
	*p = conv{g.ConvPlan, unfolded}
	if !g.DWeight.Absent() {
		b.convWeightGrad(p, &g, sums)
	}
	if !g.DX.Absent() {
		b.convInputGrad(p, &g, image)
	}
	if !g.DBias.Absent() {
		b.convBiasGrad(p, &g, sums)
	}
}

// convWeightGrad adds dy · unfoldedᵀ over images and bands, in the type of
// computation.
func (b *Backend) convWeightGrad(p *conv, g *device.ConvBackwardPlan, sums device.Array) {
	sums = sums.Slice(0, p.OutChannels*p.Unfolded)
	if g.DWeight.DType == p.Compute {
		sums = g.DWeight
	}
	b.Fill(sums, 0)
	for band := range p.Bands() {
		b.unfold(p, band)
		b.MatMul(device.MatMul{
			C: p.GroupWeights(sums, band.Group), A: p.Output(g.DY, band), B: p.unfolded,
			M: p.OutGroup, N: p.Unfolded, K: band.Rows * p.OutColumns, LDA: p.OutRows * p.OutColumns, TransB: true, Beta: 1,
		}.Plan())
	}
	if g.DWeight.DType != p.Compute {
		b.Cast(g.DWeight, sums)
	}
}

// convInputGrad folds weightᵀ · dy, an image's group at a time.
func (b *Backend) convInputGrad(p *conv, g *device.ConvBackwardPlan, image device.Array) {
	for band := range p.Bands() {
		if band.Row == 0 {
			b.Fill(image, 0)
		}
		b.MatMul(device.MatMul{
			C: p.unfolded, A: p.GroupWeights(p.Weight, band.Group), B: p.Output(g.DY, band),
			M: p.Unfolded, N: band.Rows * p.OutColumns, K: p.OutGroup, LDB: p.OutRows * p.OutColumns, TransA: true,
		}.Plan())
		b.jobs.fold = foldJob{p: p, src: b.resolve(p.unfolded), image: b.resolve(image), row: band.Row, rows: band.Rows}
		b.pool.run(&b.jobs.fold, p.InGroup)
		if band.Row+band.Rows == p.OutRows {
			b.Cast(p.Input(g.DX, band), image)
		}
	}
}

// convBiasGrad sums dy over places, then over images.
func (b *Backend) convBiasGrad(p *conv, g *device.ConvBackwardPlan, sums device.Array) {
	n := p.Batch * p.OutChannels
	sums = sums.Slice(0, n)
	b.Reduce(device.Sum, sums, g.DY, n, p.OutRows*p.OutColumns, 1)
	b.Reduce(device.Sum, g.DBias, sums, 1, p.Batch, p.OutChannels)
}
