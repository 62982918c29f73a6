package cpu

import "memtop/engine/device"

// # Convolution as a product
//
// A band of output rows of one image and one group is unfolded: row (c, kh, kw)
// of the unfolded matrix holds, for every output element of the band, the input
// element that the kernel's element (c, kh, kw) meets, or 0. Then the output is
// weight · unfolded. Backwards, dweight = dy · unfoldedᵀ, and dx is folded from
// weightᵀ · dy. How it is cut into bands is in [device.ConvPlan].

// conv is a convolution at work.
type conv struct {
	device.ConvPlan
	unfolded device.Array // scratch, Unfolded × band
}

// Conv2D implements device.Convolutions.
func (b *Backend) Conv2D(c device.ConvPlan) {
	p := &b.conv
	*p = conv{c, device.ArrayOf(c.Work, c.Compute, c.BandElements())}
	for band := range p.Bands() {
		b.unfold(p, band)
		n := band.Rows * p.OutColumns
		b.MatMul(device.MatMul{
			C: p.Output(p.Y, band), A: p.GroupWeights(p.Weight, band.Group), B: p.unfolded,
			M: p.OutGroup, N: n, K: p.Unfolded, LDC: p.OutRows * p.OutColumns,
		}.Plan())
	}
	if !p.Bias.Absent() {
		b.jobs.channel = channelJob{x: b.resolve(p.Y), bias: b.resolve(p.Bias), size: p.OutRows * p.OutColumns, wide: p.Wide()}
		b.pool.run(&b.jobs.channel, p.Batch*p.OutChannels)
	}
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
