package cpu

import (
	"fmt"

	"memtop/engine/device"
)

// # Convolution as a product
//
// A band of output rows of one image and one group is unfolded: row (c, kh, kw)
// of the unfolded matrix holds, for every output element of the band, the input
// element that the kernel's element (c, kh, kw) meets, or 0. Then the output is
// weight · unfolded. Backwards, dweight = dy · unfoldedᵀ, and dx is folded from
// weightᵀ · dy. Bands keep the matrix below bandBytes.
const bandBytes = 8 << 20

// conv is a resolved convolution.
type conv struct {
	device.Conv2D
	outHeight, outWidth int
	inGroup, outGroup   int // channels of one group
	kernel              int // elements of the unfolded matrix's columns
	bandRows            int // output rows of a band
	wide                bool
	compute             device.DType
	unfolded            device.Array // scratch, kernel × band
	image, sums         device.Array // scratch for gradients that are not kept in compute's type
}

func planConv(name string, c device.Conv2D, wide bool) conv {
	c = c.Normalized()
	p := conv{
		Conv2D: c, outHeight: c.OutHeight(), outWidth: c.OutWidth(), inGroup: c.InChannels / c.Groups,
		outGroup: c.OutChannels / c.Groups, wide: wide, compute: computeType(wide),
	}
	if c.InChannels%c.Groups != 0 || c.OutChannels%c.Groups != 0 || p.outHeight <= 0 || p.outWidth <= 0 {
		panic(fmt.Sprintf("cpu: %s: %d×%d image, %d to %d channels in %d groups, %d×%d kernel: no such convolution", name,
			c.InHeight, c.InWidth, c.InChannels, c.OutChannels, c.Groups, c.KernelHeight, c.KernelWidth))
	}
	p.kernel = p.inGroup * c.KernelHeight * c.KernelWidth
	rowBytes := int64(p.kernel*p.outWidth) * p.compute.Size()
	p.bandRows = int(min(int64(p.outHeight), max(1, bandBytes/max(1, rowBytes))))
	return p
}

func convWide(c device.Conv2D) bool { return inFloat64(c.X.DType, c.Weight.DType, c.Y.DType) }

func (p *conv) bandElements() int  { return p.kernel * p.bandRows * p.outWidth }
func (p *conv) imageElements() int { return p.inGroup * p.InHeight * p.InWidth }

// sumElements is room for the weight's gradient or one sum per channel of each
// image, which are never needed at the same time.
func (p *conv) sumElements() int { return p.OutChannels * max(p.kernel, p.Batch) }

// Conv2DWorkspace implements device.Convolutions.
func (b *Backend) Conv2DWorkspace(c device.Conv2D) int64 {
	p := planConv("conv2d", c, convWide(c))
	return int64(p.bandElements()) * p.compute.Size()
}

// Conv2DBackwardWorkspace implements device.Convolutions.
func (b *Backend) Conv2DBackwardWorkspace(c device.Conv2D) int64 {
	p := planConv("conv2d backward", c, convWide(c))
	return int64(p.bandElements()+p.imageElements()+p.sumElements()) * p.compute.Size()
}

// Conv2D implements device.Convolutions.
func (b *Backend) Conv2D(c device.Conv2D) {
	const name = "conv2d"
	p := &b.conv
	*p = planConv(name, c, convWide(c))
	b.checkConv(name, p, c.Y)
	p.unfolded = device.ArrayOf(c.Work, p.compute, p.bandElements())
	p.eachBand(func(image, group, row, rows int) {
		b.unfold(p, image, group, row, rows)
		n := rows * p.outWidth
		b.MatMul(device.MatMul{
			C: p.output(c.Y, image, group, row), A: p.weights(c.Weight, group), B: p.unfolded,
			M: p.outGroup, N: n, K: p.kernel, LDC: p.outHeight * p.outWidth,
		})
	})
	if !c.Bias.Absent() {
		b.jobs.channel = channelJob{
			x: b.view(name, "y", c.Y, p.outElements()), bias: b.view(name, "bias", c.Bias, p.OutChannels),
			size: p.outHeight * p.outWidth, wide: p.wide,
		}
		b.pool.run(&b.jobs.channel, p.Batch*p.OutChannels)
	}
}

func (b *Backend) checkConv(name string, p *conv, y device.Array) {
	requireFloat(name, p.X.DType, p.Weight.DType, y.DType)
	b.view(name, "x", p.X, p.Batch*p.InChannels*p.InHeight*p.InWidth)
	b.view(name, "weight", p.Weight, p.OutChannels*p.kernel)
	b.view(name, "y", y, p.outElements())
}

func (p *conv) outElements() int { return p.Batch * p.OutChannels * p.outHeight * p.outWidth }

func (p *conv) eachBand(do func(image, group, row, rows int)) {
	for image := range p.Batch {
		for group := range p.Groups {
			for row := 0; row < p.outHeight; row += p.bandRows {
				do(image, group, row, min(p.bandRows, p.outHeight-row))
			}
		}
	}
}

// output returns an array laid out as Y, from a row of the first channel of a
// group of an image to the group's end.
func (p *conv) output(y device.Array, image, group, row int) device.Array {
	size := p.outHeight * p.outWidth
	start := (image*p.OutChannels+group*p.outGroup)*size + row*p.outWidth
	return y.Slice(start, p.outGroup*size-row*p.outWidth)
}

func (p *conv) weights(weight device.Array, group int) device.Array {
	n := p.outGroup * p.kernel
	return weight.Slice(group*n, n)
}

// input returns the place of an image's group in an array laid out as X.
func (p *conv) input(x device.Array, image, group int) device.Array {
	return x.Slice((image*p.InChannels+group*p.inGroup)*p.InHeight*p.InWidth, p.imageElements())
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
