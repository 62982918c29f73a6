package nn

import "github.com/memtop/memtop/engine/autograd"

// LayerNorm normalises the last dimension to mean 0 and variance 1, then scales
// and shifts it.
type LayerNorm struct {
	leaf
	Weight, Bias *Param // [Width]
	Eps          float64
	Reader       string // see [autograd.NormOptions]
}

// NewLayerNorm makes a LayerNorm with weight 1, bias 0 and eps 1e-5.
func NewLayerNorm(b Builder, width int) *LayerNorm {
	return &LayerNorm{
		Weight: b.Param("weight", Constant(1), width),
		Bias:   b.Param("bias", Constant(0), width),
		Eps:    1e-5,
	}
}

// For sets the name of the only operation that reads the result, see
// [autograd.NormOptions], and returns l.
func (l *LayerNorm) For(reader string) *LayerNorm {
	l.Reader = reader
	return l
}

// Params returns weight and bias.
func (l *LayerNorm) Params() []*Param { return []*Param{l.Weight, l.Bias} }

// Forward takes and returns [..., Width].
func (l *LayerNorm) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.LayerNorm(one(l, in), l.Weight.Value(), l.Bias.Value(), autograd.NormOptions{Eps: l.Eps, Reader: l.Reader})
}

// RMSNorm divides the last dimension by its root mean square, then scales it.
type RMSNorm struct {
	leaf
	Weight *Param // [Width]
	Eps    float64
	Reader string // see [autograd.NormOptions]
}

// NewRMSNorm makes an RMSNorm with weight 1 and eps 1e-5.
func NewRMSNorm(b Builder, width int) *RMSNorm {
	return &RMSNorm{Weight: b.Param("weight", Constant(1), width), Eps: 1e-5}
}

// For is [LayerNorm.For].
func (r *RMSNorm) For(reader string) *RMSNorm {
	r.Reader = reader
	return r
}

// Params returns the weight.
func (r *RMSNorm) Params() []*Param { return []*Param{r.Weight} }

// Forward takes and returns [..., Width].
func (r *RMSNorm) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.RMSNorm(one(r, in), r.Weight.Value(), autograd.NormOptions{Eps: r.Eps, Reader: r.Reader})
}
