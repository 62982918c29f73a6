package kernels

import "github.com/memtop/memtop/engine/device"

type convArgs struct {
	X, Unfolded                                                                                          device.Array
	Channels, InHeight, InWidth, OutWidth                                                                int64
	Row, Rows                                                                                            int64
	KernelHeight, KernelWidth, StrideHeight, StrideWidth, PadHeight, PadWidth, DilateHeight, DilateWidth int64
	Last, Begins                                                                                         int32
	Sums                                                                                                 device.Array
}

type addChannelArgs struct {
	Y, Bias device.Array
	Size    int64
}

// Conv2D implements device.Convolutions.
func (c *Compute) Conv2D(p device.ConvPlan) {
	checkTypes("convolution", p.X.DType, p.Weight.DType, p.Bias.DType, p.Y.DType)
	unfolded := device.ArrayOf(p.Work, p.Compute, p.BandElements())
	p.BandRows = min(p.BandRows, c.rows)
	for b := range p.Bands() {
		n := b.Rows * p.OutColumns
		c.unfold(&p, b, unfolded)
		c.MatMul(device.MatMul{
			C: p.Output(p.Y, b), A: p.GroupWeights(p.Weight, b.Group), B: unfolded, M: p.OutGroup, N: n, K: p.Unfolded,
			LDC: p.OutRows * p.OutColumns,
		}.Plan())
	}
	if !p.Bias.Absent() {
		launch(c, AddChannel, line(ceil(p.Y.Len, blockThreads)), blockThreads, 0, addChannelArgs{
			p.Y, p.Bias, int64(p.OutRows * p.OutColumns),
		})
	}
}

// newConvArgs returns the kernels' arguments for a band of x, whose unfolded
// matrix is at the start of unfolded.
func newConvArgs(p *device.ConvPlan, x, unfolded device.Array, b device.Band) convArgs {
	return convArgs{
		X: p.Input(x, b), Unfolded: unfolded.Slice(0, p.Unfolded*b.Rows*p.OutColumns), Channels: int64(p.InGroup), InHeight: int64(p.InHeight),
		InWidth: int64(p.InWidth), OutWidth: int64(p.OutColumns), Row: int64(b.Row), Rows: int64(b.Rows),
		KernelHeight: int64(p.KernelHeight), KernelWidth: int64(p.KernelWidth), StrideHeight: int64(p.StrideHeight),
		StrideWidth: int64(p.StrideWidth), PadHeight: int64(p.PadHeight), PadWidth: int64(p.PadWidth),
		DilateHeight: int64(p.DilateHeight), DilateWidth: int64(p.DilateWidth),
	}
}

func (c *Compute) unfold(p *device.ConvPlan, b device.Band, unfolded device.Array) {
	a := newConvArgs(p, p.X, unfolded, b)
	launch(c, Unfold, line(ceil(a.Unfolded.Len, blockThreads)), blockThreads, 0, a)
}

// Conv2DBackward implements device.Convolutions.
func (c *Compute) Conv2DBackward(p device.ConvBackwardPlan) {
	checkTypes("convolution backward", p.X.DType, p.Weight.DType, p.DY.DType, p.DX.DType, p.DWeight.DType, p.DBias.DType)
	unfolded, image, sums := p.Scratch()
	p.BandRows = min(p.BandRows, c.rows)
	if !p.DWeight.Absent() {
		c.convWeights(&p, unfolded, sums)
	}
	if !p.DX.Absent() {
		c.convInput(&p, unfolded, image)
	}
	if !p.DBias.Absent() {
		n := p.Batch * p.OutChannels
		c.Reduce(device.Sum, sums.Slice(0, n), p.DY, n, p.OutRows*p.OutColumns, 1)
		c.Reduce(device.Sum, p.DBias, sums.Slice(0, n), 1, p.Batch, p.OutChannels)
	}
}

// convWeights adds dy · unfoldedᵀ over images and bands, in the type of
// computation.
func (c *Compute) convWeights(p *device.ConvBackwardPlan, unfolded, sums device.Array) {
	sums = sums.Slice(0, p.OutChannels*p.Unfolded)
	if p.DWeight.DType == p.Compute {
		sums = p.DWeight
	}
	c.Fill(sums, 0)
	for b := range p.Bands() {
		c.unfold(&p.ConvPlan, b, unfolded)
		c.MatMul(device.MatMul{
			C: p.GroupWeights(sums, b.Group), A: p.Output(p.DY, b), B: unfolded, M: p.OutGroup, N: p.Unfolded, K: b.Rows * p.OutColumns,
			LDA: p.OutRows * p.OutColumns, TransB: true, Beta: 1,
		}.Plan())
	}
	if p.DWeight.DType != p.Compute {
		c.Cast(p.DWeight, sums)
	}
}

// convInput folds weightᵀ · dy.
func (c *Compute) convInput(p *device.ConvBackwardPlan, unfolded, image device.Array) {
	for b := range p.Bands() {
		c.MatMul(device.MatMul{
			C: unfolded, A: p.GroupWeights(p.Weight, b.Group), B: p.Output(p.DY, b), M: p.Unfolded, N: b.Rows * p.OutColumns, K: p.OutGroup,
			LDB: p.OutRows * p.OutColumns, TransA: true,
		}.Plan())
		a := newConvArgs(&p.ConvPlan, p.DX, unfolded, b)
		a.Begins, a.Last, a.Sums = flag(b.Row == 0), flag(b.Row+b.Rows == p.OutRows), image
		launch(c, Fold, line(ceil(p.ImageElements(), blockThreads)), blockThreads, 0, a)
	}
}
