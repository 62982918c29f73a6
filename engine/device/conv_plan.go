package device

import "fmt"

// A convolution is the product of the weights and the unfolded image, in which
// every column has what one element of the output sees. Unfolded whole it would
// be as many times larger as the kernel has elements, so it is made in bands of
// output rows. Every device cuts alike, and thus asks its allocator for the same.

// ConvBandBytes is what a band's unfolded image is kept below.
const ConvBandBytes = 8 << 20

// ConvPlan is a checked convolution and how it is cut.
type ConvPlan struct {
	Conv2D                    // with no zeros left
	OutRows, OutColumns int   // of the output
	InGroup, OutGroup   int   // channels of one group
	Unfolded            int   // rows of the unfolded matrix
	BandRows            int   // output rows of a band
	Compute             DType // Float64 when every operand is, else Float32
}

// PlanConv2D checks c and cuts it. It panics when there is no such convolution.
func PlanConv2D(name string, c Conv2D) ConvPlan {
	c = c.Normalized()
	p := ConvPlan{
		Conv2D: c, OutRows: c.OutHeight(), OutColumns: c.OutWidth(),
		InGroup: c.InChannels / c.Groups, OutGroup: c.OutChannels / c.Groups,
	}
	if c.InChannels%c.Groups != 0 || c.OutChannels%c.Groups != 0 || p.OutRows <= 0 || p.OutColumns <= 0 {
		panic(fmt.Sprintf("device: %s: %d×%d image, %d to %d channels in %d groups, %d×%d kernel: no such convolution", name,
			c.InHeight, c.InWidth, c.InChannels, c.OutChannels, c.Groups, c.KernelHeight, c.KernelWidth))
	}
	if c.X.DType == Float64 && c.Weight.DType == Float64 && c.Y.DType == Float64 {
		p.Compute = Float64
	}
	p.Unfolded = p.InGroup * c.KernelHeight * c.KernelWidth
	rowBytes := int64(p.Unfolded*p.OutColumns) * p.Compute.Size()
	p.BandRows = int(min(int64(p.OutRows), max(1, ConvBandBytes/max(1, rowBytes))))
	return p
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

// Workspace returns the bytes of scratch that the convolution needs.
func (p *ConvPlan) Workspace() int64 { return int64(p.BandElements()) * p.Compute.Size() }

// BackwardWorkspace returns the bytes of scratch that its gradients need.
func (p *ConvPlan) BackwardWorkspace() int64 {
	return int64(p.BandElements()+p.ImageElements()+p.SumElements()) * p.Compute.Size()
}
