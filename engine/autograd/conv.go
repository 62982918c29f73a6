package autograd

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// Conv2DOptions are the parameters of a convolution, rows first. Zero strides,
// dilations and groups mean 1.
type Conv2DOptions struct {
	Stride, Pad, Dilate [2]int
	Groups              int
}

// Conv2D slides kernels over images: x is [Batch, In, Height, Width], w
// [Out, In/Groups, KernelHeight, KernelWidth], bias [Out] or nil. The
// result has the weight's type. It saves x and uses workspace of the device's
// choice.
func (t *Tape) Conv2D(x, w, bias *Value, o Conv2DOptions) *Value {
	in := []*Value{x, w}
	if bias != nil {
		in = append(in, bias)
	}
	c := t.begin("conv2d", in...)
	defer c.end()
	c.contiguous(0, 1)
	x, w = c.in[0], c.in[1]
	s := convOf(c.in, o)
	y := c.out(tensor.Shape{s.Batch, s.OutChannels, s.OutHeight(), s.OutWidth()}, w.DType())
	c.run(func() {
		s := convOn(s, x.data, w.data)
		s.Y = y.Array()
		if bias != nil {
			s.Bias = c.in[2].data.Array()
		}
		s.Work = c.scratch(s.Workspace())
		t.backend().Conv2D(s.Plan())
	})
	return c.value(y, []*tensor.Tensor{x.data, w.data}, func(b *back) { b.conv(s) })
}

func convOf(in []*Value, o Conv2DOptions) device.Conv2D {
	x, w := in[0].Shape(), in[1].Shape()
	groups := max(o.Groups, 1)
	if len(x) != 4 || len(w) != 4 || x[1] != w[1]*groups || w[0]%groups != 0 {
		panic(fmt.Sprintf("autograd: conv2d of shapes %v and %v in %d groups", x, w, groups))
	}
	if len(in) == 3 && !in[2].Shape().Equal(w[:1]) {
		panic(fmt.Sprintf("autograd: conv2d with bias of shape %v and weight of %v", in[2].Shape(), w))
	}
	c := device.Conv2D{
		Batch: x[0], InChannels: x[1], OutChannels: w[0], InHeight: x[2], InWidth: x[3],
		KernelHeight: w[2], KernelWidth: w[3], StrideHeight: o.Stride[0], StrideWidth: o.Stride[1],
		PadHeight: o.Pad[0], PadWidth: o.Pad[1], DilateHeight: o.Dilate[0], DilateWidth: o.Dilate[1],
		Groups: groups,
	}.Normalized()
	if c.OutHeight() <= 0 || c.OutWidth() <= 0 {
		panic(fmt.Sprintf("autograd: conv2d of shape %v with a kernel of %v leaves nothing", x, w))
	}
	return c
}

func convOn(c device.Conv2D, x, w *tensor.Tensor) device.Conv2D {
	c.X, c.Weight = x.Array(), w.Array()
	return c
}

func (b *back) conv(s device.Conv2D) {
	r := device.Conv2DBackward{C: convOn(s, b.saved(0), b.saved(1)), DY: b.dy.Array()}
	r.C.Y = b.dy.Array() // not read, but its type says how precise to be
	outputs := []*device.Array{&r.DX, &r.DWeight, &r.DBias}
	grads := make([]*tensor.Tensor, len(b.node.in))
	for i := range b.node.in {
		if b.wants(i) {
			grads[i] = b.grad(i)
			*outputs[i] = grads[i].Array()
		}
	}
	r.Work = b.scratch(r.C.BackwardWorkspace())
	b.backend().Conv2DBackward(r.Plan())
	b.giveAll(grads)
}
