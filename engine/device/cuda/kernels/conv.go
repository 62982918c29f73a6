package kernels

import "memtop/engine/device"

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

// conv is a checked convolution.
type conv struct{ device.ConvPlan }

func (p *conv) outElements() int { return p.Batch * p.OutChannels * p.OutRows * p.OutColumns }

// Conv2DWorkspace implements device.Convolutions: as much as on the CPU.
func (c *Compute) Conv2DWorkspace(x device.Conv2D) int64 {
	p := device.PlanConv2D("conv2d", x)
	return p.Workspace()
}

// Conv2DBackwardWorkspace implements device.Convolutions: as much as on the
// CPU.
func (c *Compute) Conv2DBackwardWorkspace(x device.Conv2D) int64 {
	p := device.PlanConv2D("conv2d backward", x)
	return p.BackwardWorkspace()
}

// Conv2D implements device.Convolutions.
func (c *Compute) Conv2D(x device.Conv2D) {
	p := conv{device.PlanConv2D("conv2d", x)}
	p.check("conv2d", x.Y)
	unfolded := device.ArrayOf(x.Work, p.Compute, p.BandElements())
	p.BandRows = min(p.BandRows, c.rows)
	for b := range p.bands() {
		n := b.rows * p.OutColumns
		c.unfold(&p, b, unfolded)
		c.MatMul(device.MatMul{
			C: p.output(x.Y, b), A: p.weights(x.Weight, b.group), B: unfolded, M: p.OutGroup, N: n, K: p.Unfolded,
			LDC: p.OutRows * p.OutColumns,
		})
	}
	if !x.Bias.Absent() {
		need("conv2d", "bias", x.Bias, p.OutChannels)
		run(c, pick(p.Wide(), AddChannelWide, AddChannel), line(ceil(x.Y.Len, blockThreads)), blockThreads, 0, addChannelArgs{
			x.Y, x.Bias, int64(p.OutRows * p.OutColumns),
		})
	}
}

func (p *conv) check(name string, y device.Array) {
	needFloat(name, p.X.DType, p.Weight.DType, y.DType)
	need(name, "x", p.X, p.Batch*p.InChannels*p.InHeight*p.InWidth)
	need(name, "weight", p.Weight, p.OutChannels*p.Unfolded)
	need(name, "y", y, p.outElements())
}

// band is some output rows of a group of an image.
type band struct{ image, group, row, rows int }

// bands goes through the bands of every group of every image.
func (p *conv) bands() func(yield func(band) bool) {
	return func(yield func(band) bool) {
		for image := range p.Batch {
			for group := range p.Groups {
				for row := 0; row < p.OutRows; row += p.BandRows {
					if !yield(band{image, group, row, min(p.BandRows, p.OutRows-row)}) {
						return
					}
				}
			}
		}
	}
}

// output returns an array laid out as Y, from a band of the first channel of a
// group to the group's end.
func (p *conv) output(y device.Array, b band) device.Array {
	size := p.OutRows * p.OutColumns
	start := (b.image*p.OutChannels+b.group*p.OutGroup)*size + b.row*p.OutColumns
	return y.Slice(start, p.OutGroup*size-b.row*p.OutColumns)
}

func (p *conv) weights(weight device.Array, group int) device.Array {
	n := p.OutGroup * p.Unfolded
	return weight.Slice(group*n, n)
}

// input returns the place of a band's image and group in an array laid out as X.
func (p *conv) input(x device.Array, b band) device.Array {
	return x.Slice((b.image*p.InChannels+b.group*p.InGroup)*p.InHeight*p.InWidth, p.ImageElements())
}

// args returns what the kernels take for a band, whose unfolded matrix lies at
// the start of unfolded.
func (p *conv) args(x, unfolded device.Array, b band) convArgs {
	return convArgs{
		X: p.input(x, b), Unfolded: unfolded.Slice(0, p.Unfolded*b.rows*p.OutColumns), Channels: int64(p.InGroup), InHeight: int64(p.InHeight),
		InWidth: int64(p.InWidth), OutWidth: int64(p.OutColumns), Row: int64(b.row), Rows: int64(b.rows),
		KernelHeight: int64(p.KernelHeight), KernelWidth: int64(p.KernelWidth), StrideHeight: int64(p.StrideHeight),
		StrideWidth: int64(p.StrideWidth), PadHeight: int64(p.PadHeight), PadWidth: int64(p.PadWidth),
		DilateHeight: int64(p.DilateHeight), DilateWidth: int64(p.DilateWidth),
	}
}

func (c *Compute) unfold(p *conv, b band, unfolded device.Array) {
	a := p.args(p.X, unfolded, b)
	run(c, pick(p.Wide(), UnfoldWide, Unfold), line(ceil(a.Unfolded.Len, blockThreads)), blockThreads, 0, a)
}

// Conv2DBackward implements device.Convolutions.
func (c *Compute) Conv2DBackward(g device.Conv2DBackward) {
	const name = "conv2d backward"
	p := conv{device.PlanConv2D(name, g.C)}
	p.check(name, g.DY)
	work := device.ArrayOf(g.Work, p.Compute, p.BandElements()+p.ImageElements()+p.SumElements())
	unfolded := work.Slice(0, p.BandElements())
	image := work.Slice(p.BandElements(), p.ImageElements())
	sums := work.Slice(p.BandElements()+p.ImageElements(), p.SumElements())
	p.BandRows = min(p.BandRows, c.rows)
	if !g.DWeight.Absent() {
		c.convWeights(&p, g, unfolded, sums)
	}
	if !g.DX.Absent() {
		c.convInput(&p, g, unfolded, image)
	}
	if !g.DBias.Absent() {
		n := p.Batch * p.OutChannels
		c.Reduce(device.Sum, sums.Slice(0, n), g.DY, n, p.OutRows*p.OutColumns, 1)
		c.Reduce(device.Sum, g.DBias, sums.Slice(0, n), 1, p.Batch, p.OutChannels)
	}
}

// convWeights adds dy · unfoldedᵀ over images and bands, in the type of
// computation.
func (c *Compute) convWeights(p *conv, g device.Conv2DBackward, unfolded, sums device.Array) {
	sums = sums.Slice(0, p.OutChannels*p.Unfolded)
	if g.DWeight.DType == p.Compute {
		sums = g.DWeight
	}
	c.Fill(sums, 0)
	for b := range p.bands() {
		c.unfold(p, b, unfolded)
		c.MatMul(device.MatMul{
			C: p.weights(sums, b.group), A: p.output(g.DY, b), B: unfolded, M: p.OutGroup, N: p.Unfolded, K: b.rows * p.OutColumns,
			LDA: p.OutRows * p.OutColumns, TransB: true, Beta: 1,
		})
	}
	if g.DWeight.DType != p.Compute {
		c.Cast(g.DWeight, sums)
	}
}

// convInput folds weightᵀ · dy.
func (c *Compute) convInput(p *conv, g device.Conv2DBackward, unfolded, image device.Array) {
	need("conv2d backward", "dx", g.DX, p.Batch*p.InChannels*p.InHeight*p.InWidth)
	for b := range p.bands() {
		c.MatMul(device.MatMul{
			C: unfolded, A: p.weights(g.C.Weight, b.group), B: p.output(g.DY, b), M: p.Unfolded, N: b.rows * p.OutColumns, K: p.OutGroup,
			LDB: p.OutRows * p.OutColumns, TransA: true,
		})
		a := p.args(g.DX, unfolded, b)
		a.Begins, a.Last, a.Sums = flag(b.row == 0), flag(b.row+b.rows == p.OutRows), image
		run(c, pick(p.Wide(), FoldWide, Fold), line(ceil(p.ImageElements(), blockThreads)), blockThreads, 0, a)
	}
}
