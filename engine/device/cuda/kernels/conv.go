package kernels

import (
	"fmt"

	"memtop/engine/device"
)

// Bands of an unfolded image are kept below bandBytes.
const bandBytes = 8 << 20

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
type conv struct {
	device.Conv2D
	outHeight, outWidth int
	inGroup, outGroup   int // channels of one group
	kernel              int // rows of the unfolded matrix
	bandRows            int // output rows of a band
	wide                bool
	compute             device.DType
}

func newConv(name string, c device.Conv2D, wide bool) conv {
	c = c.Normalized()
	p := conv{
		Conv2D: c, outHeight: c.OutHeight(), outWidth: c.OutWidth(), inGroup: c.InChannels / c.Groups,
		outGroup: c.OutChannels / c.Groups, wide: wide, compute: computeType(wide),
	}
	if c.InChannels%c.Groups != 0 || c.OutChannels%c.Groups != 0 || p.outHeight <= 0 || p.outWidth <= 0 {
		panic(fmt.Sprintf("kernels: %s: %d×%d image, %d to %d channels in %d groups, %d×%d kernel: no such convolution", name,
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
func (p *conv) outElements() int   { return p.Batch * p.OutChannels * p.outHeight * p.outWidth }

// sumElements is room for the weight's gradient or one sum per channel of each
// image, which are never needed at the same time.
func (p *conv) sumElements() int { return p.OutChannels * max(p.kernel, p.Batch) }

// Conv2DWorkspace implements device.Convolutions: as much as on the CPU.
func (c *Compute) Conv2DWorkspace(x device.Conv2D) int64 {
	p := newConv("conv2d", x, convWide(x))
	return int64(p.bandElements()) * p.compute.Size()
}

// Conv2DBackwardWorkspace implements device.Convolutions: as much as on the
// CPU.
func (c *Compute) Conv2DBackwardWorkspace(x device.Conv2D) int64 {
	p := newConv("conv2d backward", x, convWide(x))
	return int64(p.bandElements()+p.imageElements()+p.sumElements()) * p.compute.Size()
}

// Conv2D implements device.Convolutions.
func (c *Compute) Conv2D(x device.Conv2D) {
	p := newConv("conv2d", x, convWide(x))
	p.check("conv2d", x.Y)
	unfolded := device.ArrayOf(x.Work, p.compute, p.bandElements())
	p.bandRows = min(p.bandRows, c.rows)
	for b := range p.bands() {
		n := b.rows * p.outWidth
		c.unfold(&p, b, unfolded)
		c.MatMul(device.MatMul{
			C: p.output(x.Y, b), A: p.weights(x.Weight, b.group), B: unfolded, M: p.outGroup, N: n, K: p.kernel,
			LDC: p.outHeight * p.outWidth,
		})
	}
	if !x.Bias.Absent() {
		need("conv2d", "bias", x.Bias, p.OutChannels)
		run(c, pick(p.wide, AddChannelWide, AddChannel), line(ceil(x.Y.Len, blockThreads)), blockThreads, 0, addChannelArgs{
			x.Y, x.Bias, int64(p.outHeight * p.outWidth),
		})
	}
}

func (p *conv) check(name string, y device.Array) {
	needFloat(name, p.X.DType, p.Weight.DType, y.DType)
	need(name, "x", p.X, p.Batch*p.InChannels*p.InHeight*p.InWidth)
	need(name, "weight", p.Weight, p.OutChannels*p.kernel)
	need(name, "y", y, p.outElements())
}

// band is some output rows of a group of an image.
type band struct{ image, group, row, rows int }

// bands goes through the bands of every group of every image.
func (p *conv) bands() func(yield func(band) bool) {
	return func(yield func(band) bool) {
		for image := range p.Batch {
			for group := range p.Groups {
				for row := 0; row < p.outHeight; row += p.bandRows {
					if !yield(band{image, group, row, min(p.bandRows, p.outHeight-row)}) {
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
	size := p.outHeight * p.outWidth
	start := (b.image*p.OutChannels+b.group*p.outGroup)*size + b.row*p.outWidth
	return y.Slice(start, p.outGroup*size-b.row*p.outWidth)
}

func (p *conv) weights(weight device.Array, group int) device.Array {
	n := p.outGroup * p.kernel
	return weight.Slice(group*n, n)
}

// input returns the place of a band's image and group in an array laid out as X.
func (p *conv) input(x device.Array, b band) device.Array {
	return x.Slice((b.image*p.InChannels+b.group*p.inGroup)*p.InHeight*p.InWidth, p.imageElements())
}

// args returns what the kernels take for a band, whose unfolded matrix lies at
// the start of unfolded.
func (p *conv) args(x, unfolded device.Array, b band) convArgs {
	return convArgs{
		X: p.input(x, b), Unfolded: unfolded.Slice(0, p.kernel*b.rows*p.outWidth), Channels: int64(p.inGroup), InHeight: int64(p.InHeight),
		InWidth: int64(p.InWidth), OutWidth: int64(p.outWidth), Row: int64(b.row), Rows: int64(b.rows),
		KernelHeight: int64(p.KernelHeight), KernelWidth: int64(p.KernelWidth), StrideHeight: int64(p.StrideHeight),
		StrideWidth: int64(p.StrideWidth), PadHeight: int64(p.PadHeight), PadWidth: int64(p.PadWidth),
		DilateHeight: int64(p.DilateHeight), DilateWidth: int64(p.DilateWidth),
	}
}

func (c *Compute) unfold(p *conv, b band, unfolded device.Array) {
	a := p.args(p.X, unfolded, b)
	run(c, pick(p.wide, UnfoldWide, Unfold), line(ceil(a.Unfolded.Len, blockThreads)), blockThreads, 0, a)
}

// Conv2DBackward implements device.Convolutions.
func (c *Compute) Conv2DBackward(g device.Conv2DBackward) {
	const name = "conv2d backward"
	p := newConv(name, g.C, convWide(g.C))
	p.check(name, g.DY)
	work := device.ArrayOf(g.Work, p.compute, p.bandElements()+p.imageElements()+p.sumElements())
	unfolded := work.Slice(0, p.bandElements())
	image := work.Slice(p.bandElements(), p.imageElements())
	sums := work.Slice(p.bandElements()+p.imageElements(), p.sumElements())
	p.bandRows = min(p.bandRows, c.rows)
	if !g.DWeight.Absent() {
		c.convWeights(&p, g, unfolded, sums)
	}
	if !g.DX.Absent() {
		c.convInput(&p, g, unfolded, image)
	}
	if !g.DBias.Absent() {
		n := p.Batch * p.OutChannels
		c.Reduce(device.Sum, sums.Slice(0, n), g.DY, n, p.outHeight*p.outWidth, 1)
		c.Reduce(device.Sum, g.DBias, sums.Slice(0, n), 1, p.Batch, p.OutChannels)
	}
}

// convWeights adds dy · unfoldedᵀ over images and bands, in the type of
// computation.
func (c *Compute) convWeights(p *conv, g device.Conv2DBackward, unfolded, sums device.Array) {
	sums = sums.Slice(0, p.OutChannels*p.kernel)
	if g.DWeight.DType == p.compute {
		sums = g.DWeight
	}
	c.Fill(sums, 0)
	for b := range p.bands() {
		c.unfold(p, b, unfolded)
		c.MatMul(device.MatMul{
			C: p.weights(sums, b.group), A: p.output(g.DY, b), B: unfolded, M: p.outGroup, N: p.kernel, K: b.rows * p.outWidth,
			LDA: p.outHeight * p.outWidth, TransB: true, Beta: 1,
		})
	}
	if g.DWeight.DType != p.compute {
		c.Cast(g.DWeight, sums)
	}
}

// convInput folds weightᵀ · dy.
func (c *Compute) convInput(p *conv, g device.Conv2DBackward, unfolded, image device.Array) {
	need("conv2d backward", "dx", g.DX, p.Batch*p.InChannels*p.InHeight*p.InWidth)
	for b := range p.bands() {
		c.MatMul(device.MatMul{
			C: unfolded, A: p.weights(g.C.Weight, b.group), B: p.output(g.DY, b), M: p.kernel, N: b.rows * p.outWidth, K: p.outGroup,
			LDB: p.outHeight * p.outWidth, TransA: true,
		})
		a := p.args(g.DX, unfolded, b)
		a.Begins, a.Last, a.Sums = flag(b.row == 0), flag(b.row+b.rows == p.outHeight), image
		run(c, pick(p.wide, FoldWide, Fold), line(ceil(p.imageElements(), blockThreads)), blockThreads, 0, a)
	}
}
