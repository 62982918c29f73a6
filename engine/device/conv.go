package device

// Conv2D describes a two-dimensional convolution (cross-correlation, as every
// library means it): X is [Batch, InChannels, InHeight, InWidth], Weight
// [OutChannels, InChannels/Groups, KernelHeight, KernelWidth], Bias, which may
// be absent, [OutChannels], and Y [Batch, OutChannels, OutHeight, OutWidth].
// X, Weight and Y are floating-point of any types.
type Conv2D struct {
	Batch                     int
	InChannels, OutChannels   int
	InHeight, InWidth         int
	KernelHeight, KernelWidth int
	StrideHeight, StrideWidth int // 0 means 1
	PadHeight, PadWidth       int // zeros on both sides
	DilateHeight, DilateWidth int // 0 means 1
	Groups                    int // 0 means 1
	X, Weight, Bias, Y        Array
	// Work is scratch of at least Workspace bytes.
	Work Buffer
}

// Normalized returns c with its zero strides, dilations and groups made 1.
func (c Conv2D) Normalized() Conv2D {
	for _, p := range []*int{&c.StrideHeight, &c.StrideWidth, &c.DilateHeight, &c.DilateWidth, &c.Groups} {
		*p = max(*p, 1)
	}
	return c
}

// OutHeight returns the rows of the output:
// ⌊(InHeight + 2·PadHeight − DilateHeight·(KernelHeight−1) − 1)/StrideHeight⌋ + 1.
func (c Conv2D) OutHeight() int {
	c = c.Normalized()
	return (c.InHeight+2*c.PadHeight-c.DilateHeight*(c.KernelHeight-1)-1)/c.StrideHeight + 1
}

// OutWidth returns the columns of the output, as OutHeight does.
func (c Conv2D) OutWidth() int {
	c = c.Normalized()
	return (c.InWidth+2*c.PadWidth-c.DilateWidth*(c.KernelWidth-1)-1)/c.StrideWidth + 1
}

// Conv2DBackward describes the gradients of C. DY is laid out as Y, DX as X,
// DWeight as Weight, DBias as Bias; any of the last three may be absent. They
// are overwritten. C's Bias and Work are not used, and of its Y only the type.
type Conv2DBackward struct {
	C                      Conv2D
	DY, DX, DWeight, DBias Array
	// Work is scratch of at least C.BackwardWorkspace bytes.
	Work Buffer
}

// Convolutions computes convolutions and their gradients.
type Convolutions interface {
	// Conv2D computes y[n,o] = bias[o] + Σ x[n,i] ⋆ weight[o,i].
	Conv2D(p ConvPlan)
	// Conv2DBackward computes the gradients of Conv2D.
	Conv2DBackward(p ConvBackwardPlan)
}
