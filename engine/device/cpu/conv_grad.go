package cpu

import "memtop/engine/device"

// Conv2DBackward implements device.Convolutions.
func (b *Backend) Conv2DBackward(g device.Conv2DBackward) {
	const name = "conv2d backward"
	p := &b.conv
	*p = conv{ConvPlan: device.PlanConv2D(name, g.C)}
	p.Y = g.DY
	b.checkConv(name, p, g.DY)
	work := device.ArrayOf(g.Work, p.Compute, p.BandElements()+p.ImageElements()+p.SumElements())
	p.unfolded = work.Slice(0, p.BandElements())
	p.image = work.Slice(p.BandElements(), p.ImageElements())
	p.sums = work.Slice(p.BandElements()+p.ImageElements(), p.SumElements())
	if !g.DWeight.Absent() {
		b.convWeightGrad(p, g)
	}
	if !g.DX.Absent() {
		b.convInputGrad(p, g)
	}
	if !g.DBias.Absent() {
		b.convBiasGrad(p, g)
	}
}

// convWeightGrad adds dy · unfoldedᵀ over images and bands, in the type of
// computation.
func (b *Backend) convWeightGrad(p *conv, g device.Conv2DBackward) {
	sums := p.sums.Slice(0, p.OutChannels*p.Unfolded)
	if g.DWeight.DType == p.Compute {
		sums = g.DWeight
	}
	b.Fill(sums, 0)
	p.eachBand(func(image, group, row, rows int) {
		b.unfold(p, image, group, row, rows)
		b.MatMul(device.MatMul{
			C: p.weights(sums, group), A: p.output(g.DY, image, group, row), B: p.unfolded,
			M: p.OutGroup, N: p.Unfolded, K: rows * p.OutColumns, LDA: p.OutRows * p.OutColumns, TransB: true, Beta: 1,
		})
	})
	if g.DWeight.DType != p.Compute {
		b.Cast(g.DWeight, sums)
	}
}

// convInputGrad folds weightᵀ · dy, an image's group at a time.
func (b *Backend) convInputGrad(p *conv, g device.Conv2DBackward) {
	b.view("conv2d backward", "dx", g.DX, p.Batch*p.InChannels*p.InHeight*p.InWidth)
	p.eachBand(func(image, group, row, rows int) {
		if row == 0 {
			b.Fill(p.image, 0)
		}
		b.MatMul(device.MatMul{
			C: p.unfolded, A: p.weights(g.C.Weight, group), B: p.output(g.DY, image, group, row),
			M: p.Unfolded, N: rows * p.OutColumns, K: p.OutGroup, LDB: p.OutRows * p.OutColumns, TransA: true,
		})
		b.jobs.fold = foldJob{
			p: p, src: b.view("conv2d backward", "workspace", p.unfolded, p.unfolded.Len),
			image: b.view("conv2d backward", "workspace", p.image, p.image.Len), row: row, rows: rows,
		}
		b.pool.run(&b.jobs.fold, p.InGroup)
		if row+rows == p.OutRows {
			b.Cast(p.input(g.DX, image, group), p.image)
		}
	})
}

// convBiasGrad sums dy over places, then over images.
func (b *Backend) convBiasGrad(p *conv, g device.Conv2DBackward) {
	n := p.Batch * p.OutChannels
	sums := p.sums.Slice(0, n)
	b.Reduce(device.Sum, sums, g.DY, n, p.OutRows*p.OutColumns, 1)
	b.Reduce(device.Sum, g.DBias, sums, 1, p.Batch, p.OutChannels)
}
