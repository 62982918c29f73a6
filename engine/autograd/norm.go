package autograd

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

const layerNorm, rmsNorm = "layer_norm", "rms_norm"

// NormOptions say how rows are normalised.
type NormOptions struct {
	Eps float64
	// Reader is the name of the one operation that reads the result, such as
	// "linear". The result is stored in the type to which the tape's Caster would
	// convert it for that operation. "" means that the reader is not known.
	Reader string
}

// LayerNorm normalises the last dimension to mean 0 and variance 1, then
// multiplies by w and adds b, both of that dimension's extent; b may be nil. The
// formula is [device.Normalizations]'s. LayerNorm computes in float32 for
// operands of any type, so no operand is converted; a Caster chooses only the
// type of the result. It saves x and two numbers per row.
func (t *Tape) LayerNorm(x, w, b *Value, o NormOptions) *Value {
	return t.norm(layerNorm, false, x, w, b, o)
}

// RMSNorm divides the last dimension by its root mean square and multiplies by
// w. It saves x and one number per row. Types are as for LayerNorm.
func (t *Tape) RMSNorm(x, w *Value, o NormOptions) *Value {
	return t.norm(rmsNorm, true, x, w, nil, o)
}

func (t *Tape) norm(op string, rms bool, x, w, bias *Value, o NormOptions) *Value {
	in := []*Value{x, w}
	if bias != nil {
		in = append(in, bias)
	}
	c := t.beginAsGiven(op, in...)
	defer c.end()
	c.contiguous(0)
	x, w = c.in[0], c.in[1]
	n := normOf(op, c.in, o.Eps)
	n.RMS = rms
	list := []*tensor.Tensor{x.data, w.data}
	y := c.out(x.Shape(), t.normType(op, o.Reader, Wider(x.DType(), w.DType())))
	rstd := c.result(tensor.Shape{n.Rows}, statistics(x.DType()), "rstd")
	list = append(list, rstd)
	var mean *tensor.Tensor
	if !rms {
		mean = c.result(tensor.Shape{n.Rows}, statistics(x.DType()), "mean")
		list = append(list, mean)
	}
	_, s := c.take()
	c.run(func() {
		n := n
		n.X, n.Y, n.Weight, n.RStd = x.data.Array(), y.Array(), w.data.Array(), rstd.Array()
		if bias != nil {
			n.Bias = c.in[2].data.Array()
		}
		if mean != nil {
			n.Mean = mean.Array()
		}
		if s != nil {
			n.X, n.Residual, n.Sum = s.a, s.b, n.X
		}
		t.backend().Normalize(n.Plan())
	})
	return c.value(y, list, func(b *back) { b.norm(n, s) })
}

// normType returns the type of a normalisation's result: the type that its reader
// converts to, else the type that the caster chooses for it, else the operands'
// type.
func (t *Tape) normType(op, reader string, given device.DType) device.DType {
	if t.caster == nil {
		return given
	}
	if reader != "" {
		op = reader
	}
	if dtype, ok := t.caster.Cast(op, []device.DType{given}); ok {
		return dtype
	}
	return given
}

func normOf(op string, in []*Value, eps float64) device.Norm {
	x := in[0].Shape()
	for _, v := range in[1:] {
		if len(x) == 0 || !v.Shape().Equal(x[len(x)-1:]) {
			panic(fmt.Sprintf("autograd: %s of shapes %v and %v", op, x, v.Shape()))
		}
	}
	return device.Norm{Rows: rowsOf(x), Cols: x.Last(), Eps: eps}
}

// statistics is the type of numbers that are kept per row.
func statistics(d device.DType) device.DType {
	if d == device.Float64 {
		return d
	}
	return device.Float32
}

// norm is the rule of a normalisation. s is the sum that the normalisation
// computed first, or nil.
func (b *back) norm(n device.Norm, s *sum) {
	n.X, n.Weight, n.RStd = b.saved(0).Array(), b.saved(1).Array(), b.saved(2).Array()
	r := device.NormBackward{N: n, DY: b.dy.Array()}
	if !n.RMS {
		r.N.Mean = b.saved(3).Array()
	}
	outputs := []*device.Array{&r.DX, &r.DWeight, &r.DBias}
	grads := make([]*tensor.Tensor, len(b.node.in))
	var low *tensor.Tensor
	if b.wants(0) {
		dx, given := b.onto(0)
		r.DX, grads[0] = dx.Array(), dx
		if given != nil {
			r.Add = given.Array()
		}
		if s != nil && s.has { // this is the last part of the gradient that the sum will take on
			low = b.temporary(dx.Shape(), s.low, "grad of add")
			r.Low = low.Array()
		}
	}
	for i := range grads[1:] {
		if i++; b.wants(i) {
			grads[i] = b.grad(i)
			*outputs[i] = grads[i].Array()
		}
	}
	b.backend().NormalizeBackward(r.Plan())
	if b.wants(0) {
		b.replace(0, grads[0], low)
		grads[0] = nil
	}
	b.giveAll(grads)
}

// giveAll passes on the gradients of all operands that have one.
func (b *back) giveAll(grads []*tensor.Tensor) {
	for i, g := range grads {
		if g != nil {
			b.give(i, g)
		}
	}
}
