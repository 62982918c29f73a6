package device

import (
	"fmt"
	"iter"
)

// A convolution is the product of the weights and the unfolded image, whose
// columns have the inputs of one output element each. A whole unfolded image
// would be larger by the number of kernel elements, so it is made in bands of
// output rows. Every device makes the same bands, and so asks its allocator for
// the same memory.

// ConvBandBytes bounds the unfolded image of a band.
const ConvBandBytes = 8 << 20

// ConvPlan is a checked Conv2D, and how a backend divides it.
type ConvPlan struct {
	Conv2D                    // with defaults in place of zeros
	OutRows, OutColumns int   // of the output
	InGroup, OutGroup   int   // channels of one group
	Unfolded            int   // rows of the unfolded matrix
	BandRows            int   // output rows of a band
	Compute             DType // Float64 when every operand is, else Float32
}

// ConvBackwardPlan is a checked Conv2DBackward.
type ConvBackwardPlan struct {
	ConvPlan
	DY, DX, DWeight, DBias Array
	Work                   Buffer
}

// Plan checks c and divides it into bands. It panics when c is invalid.
func (c Conv2D) Plan() ConvPlan {
	const name = "conv2d"
	p := c.cut(name)
	p.check(name, p.Y)
	CheckOptional(name, "bias", p.Bias, p.OutChannels)
	checkWork(name, p.Work, p.workspace())
	return p
}

// Plan checks g and divides it into bands. It panics when g is invalid.
func (g Conv2DBackward) Plan() ConvBackwardPlan {
	const name = "conv2d backward"
	p := ConvBackwardPlan{g.C.cut(name), g.DY, g.DX, g.DWeight, g.DBias, g.Work}
	p.check(name, p.DY)
	CheckOptional(name, "dx", p.DX, p.X.Len)
	CheckOptional(name, "dweight", p.DWeight, p.Weight.Len)
	CheckOptional(name, "dbias", p.DBias, p.OutChannels)
	checkWork(name, p.Work, p.backwardWorkspace())
	return p
}

// cut checks the sizes of c and divides it. It uses only the types of c's arrays,
// which may be absent.
func (c Conv2D) cut(name string) ConvPlan {
	c = c.Normalized()
	p := ConvPlan{
		Conv2D: c, OutRows: c.OutHeight(), OutColumns: c.OutWidth(),
		InGroup: c.InChannels / c.Groups, OutGroup: c.OutChannels / c.Groups, Compute: ComputeType(c.X.DType, c.Weight.DType, c.Y.DType),
	}
	if c.InChannels%c.Groups != 0 || c.OutChannels%c.Groups != 0 || p.OutRows <= 0 || p.OutColumns <= 0 {
		panic(fmt.Sprintf("device: %s: %d×%d image, %d to %d channels in %d groups, %d×%d kernel: no such convolution", name,
			c.InHeight, c.InWidth, c.InChannels, c.OutChannels, c.Groups, c.KernelHeight, c.KernelWidth))
	}
	p.Unfolded = p.InGroup * c.KernelHeight * c.KernelWidth
	rowBytes := int64(p.Unfolded*p.OutColumns) * p.Compute.Size()
	p.BandRows = int(min(int64(p.OutRows), max(1, ConvBandBytes/max(1, rowBytes))))
	return p
}

// check panics unless X, Weight and y, which is laid out as Y, are of c's sizes.
func (p *ConvPlan) check(name string, y Array) {
	CheckFloat(name, p.X.DType, p.Weight.DType, y.DType)
	CheckLen(name, "x", p.X, p.Batch*p.InChannels*p.InHeight*p.InWidth)
	CheckLen(name, "weight", p.Weight, p.OutChannels*p.Unfolded)
	CheckLen(name, "y", y, p.Batch*p.OutChannels*p.OutRows*p.OutColumns)
}

// Workspace returns the bytes of scratch for c. It uses only the types of c's
// arrays, which may be absent. The size is bounded: the unfolded image is made in
// bands.
func (c Conv2D) Workspace() int64 {
	p := c.cut("conv2d")
	return p.workspace()
}

// BackwardWorkspace returns the bytes of scratch for c's gradients.
func (c Conv2D) BackwardWorkspace() int64 {
	p := c.cut("conv2d backward")
	return p.backwardWorkspace()
}

// Band is a range of output rows of one group of one image.
type Band struct{ Image, Group, Row, Rows int }

// Bands yields the bands of every group of every image.
func (p *ConvPlan) Bands() iter.Seq[Band] {
	return func(yield func(Band) bool) {
		for image := range p.Batch {
			for group := range p.Groups {
				for row := 0; row < p.OutRows; row += p.BandRows {
					if !yield(Band{image, group, row, min(p.BandRows, p.OutRows-row)}) {
						return
					}
				}
			}
		}
	}
}

// Output returns an array laid out as Y, from a band of the first channel of a
// group to the group's end.
func (p *ConvPlan) Output(y Array, b Band) Array {
	size := p.OutRows * p.OutColumns
	start := (b.Image*p.OutChannels+b.Group*p.OutGroup)*size + b.Row*p.OutColumns
	return y.Slice(start, p.OutGroup*size-b.Row*p.OutColumns)
}

// GroupWeights returns a group's part of an array laid out as Weight.
func (p *ConvPlan) GroupWeights(weight Array, group int) Array {
	n := p.OutGroup * p.Unfolded
	return weight.Slice(group*n, n)
}

// Input returns the place of a band's image and group in an array laid out as X.
func (p *ConvPlan) Input(x Array, b Band) Array {
	return x.Slice((b.Image*p.InChannels+b.Group*p.InGroup)*p.InHeight*p.InWidth, p.ImageElements())
}

// Scratch divides Work into the parts that BackwardWorkspace counts.
func (p *ConvBackwardPlan) Scratch() (unfolded, image, sums Array) {
	all := ArrayOf(p.Work, p.Compute, p.BandElements()+p.ImageElements()+p.SumElements())
	return all.Slice(0, p.BandElements()), all.Slice(p.BandElements(), p.ImageElements()),
		all.Slice(p.BandElements()+p.ImageElements(), p.SumElements())
}

// Wide reports whether it is computed in float64.
func (p *ConvPlan) Wide() bool { return p.Compute == Float64 }

// BandElements is the size of a band's unfolded image.
func (p *ConvPlan) BandElements() int { return p.Unfolded * p.BandRows * p.OutColumns }

// ImageElements is the size of one group of one image.
func (p *ConvPlan) ImageElements() int { return p.InGroup * p.InHeight * p.InWidth }

// SumElements is room for the weight's gradient or one sum per channel of each
// image, which are never needed at the same time.
func (p *ConvPlan) SumElements() int { return p.OutChannels * max(p.Unfolded, p.Batch) }

func (p *ConvPlan) workspace() int64 { return int64(p.BandElements()) * p.Compute.Size() }

func (p *ConvPlan) backwardWorkspace() int64 {
	return int64(p.BandElements()+p.ImageElements()+p.SumElements()) * p.Compute.Size()
}
