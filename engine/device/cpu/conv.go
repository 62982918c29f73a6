package cpu

import "memtop/engine/device"

// # Convolution as a product
//
// A band of output rows of one image and one group is unfolded: row (c, kh, kw)
// of the unfolded matrix holds, for every output element of the band, the input
// element that the kernel's element (c, kh, kw) meets, or 0. Then the output is
// weight · unfolded. Backwards, dweight = dy · unfoldedᵀ, and dx is folded from
// weightᵀ · dy. How it is cut into bands is in [device.ConvPlan].

// conv is a resolved convolution.
type conv struct {
	device.ConvPlan
	unfolded    device.Array // scratch, Unfolded × band
	image, sums device.Array // scratch for gradients that are not kept in Compute's type
}

// Conv2DWorkspace implements device.Convolutions.
func (b *Backend) Conv2DWorkspace(c device.Conv2D) int64 {
	p := device.PlanConv2D("conv2d", c)
	return p.Workspace()
}

// Conv2DBackwardWorkspace implements device.Convolutions.
func (b *Backend) Conv2DBackwardWorkspace(c device.Conv2D) int64 {
	p := device.PlanConv2D("conv2d backward", c)
	return p.BackwardWorkspace()
}

// Conv2D implements device.Convolutions.
func (b *Backend) Conv2D(c device.Conv2D) {
	const name = "conv2d"
	p := &b.conv
	*p = conv{ConvPlan: device.PlanConv2D(name, c)}
	b.checkConv(name, p, c.Y)
	p.unfolded = device.ArrayOf(c.Work, p.Compute, p.BandElements())
	p.eachBand(func(image, group, row, rows int) {
		b.unfold(p, image, group, row, rows)
		n := rows * p.OutColumns
		b.MatMul(device.MatMul{
			C: p.output(c.Y, image, group, row), A: p.weights(c.Weight, group), B: p.unfolded,
			M: p.OutGroup, N: n, K: p.Unfolded, LDC: p.OutRows * p.OutColumns,
		})
	})
	if !c.Bias.Absent() {
		b.jobs.channel = channelJob{
			x: b.view(name, "y", c.Y, p.outElements()), bias: b.view(name, "bias", c.Bias, p.OutChannels),
			size: p.OutRows * p.OutColumns, wide: p.Wide(),
		}
		b.pool.run(&b.jobs.channel, p.Batch*p.OutChannels)
	}
}

func (b *Backend) checkConv(name string, p *conv, y device.Array) {
	requireFloat(name, p.X.DType, p.Weight.DType, y.DType)
	b.view(name, "x", p.X, p.Batch*p.InChannels*p.InHeight*p.InWidth)
	b.view(name, "weight", p.Weight, p.OutChannels*p.Unfolded)
	b.view(name, "y", y, p.outElements())
}

func (p *conv) outElements() int { return p.Batch * p.OutChannels * p.OutRows * p.OutColumns }

func (p *conv) eachBand(do func(image, group, row, rows int)) {
	for image := range p.Batch {
		for group := range p.Groups {
			for row := 0; row < p.OutRows; row += p.BandRows {
				do(image, group, row, min(p.BandRows, p.OutRows-row))
			}
		}
	}
}

// output returns an array laid out as Y, from a row of the first channel of a
// group of an image to the group's end.
func (p *conv) output(y device.Array, image, group, row int) device.Array {
	size := p.OutRows * p.OutColumns
	start := (image*p.OutChannels+group*p.OutGroup)*size + row*p.OutColumns
	return y.Slice(start, p.OutGroup*size-row*p.OutColumns)
}

func (p *conv) weights(weight device.Array, group int) device.Array {
	n := p.OutGroup * p.Unfolded
	return weight.Slice(group*n, n)
}

// input returns the place of an image's group in an array laid out as X.
func (p *conv) input(x device.Array, image, group int) device.Array {
	return x.Slice((image*p.InChannels+group*p.InGroup)*p.InHeight*p.InWidth, p.ImageElements())
}

// channelJob adds the bias; a part is a channel of an image.
type channelJob struct {
	x, bias view
	size    int
	wide    bool
}

func (j *channelJob) run(w *worker, part int) {
	if j.wide {
		addChannel[float64](w, j, part)
	} else {
		addChannel[float32](w, j, part)
	}
}

func addChannel[T float](w *worker, j *channelJob, part int) {
	bias := load[T](w, slotB, j.bias, part%j.bias.n, 1)[0]
	x := load[T](w, slotA, j.x, part*j.size, j.size)
	for i := range x {
		x[i] += bias
	}
	store(j.x, part*j.size, x)
}
