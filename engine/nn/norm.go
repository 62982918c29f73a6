package nn

import (
	"slices"

	"github.com/memtop/memtop/engine/autograd"
)

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

// BatchNorm2d normalises every channel over the pixels and the samples that run
// together. If a batch runs in parts, these are the samples of one part, and each
// part updates the running statistics, as in PyTorch. Evaluation uses the running
// statistics.
type BatchNorm2d struct {
	leaf
	Weight, Bias   *Param // [Channels]
	Mean, Variance *Param // running, [Channels]
	Eps, Momentum  float64
}

// NewBatchNorm2d makes a BatchNorm2d with weight 1, bias 0, running mean 0 and variance
// 1, eps 1e-5 and momentum 0.1.
func NewBatchNorm2d(b Builder, channels int) *BatchNorm2d {
	return &BatchNorm2d{
		Weight: b.Param("weight", Constant(1), channels), Bias: b.Param("bias", Constant(0), channels),
		Mean:     b.Buffer("running_mean", make([]float64, channels), channels),
		Variance: b.Buffer("running_var", slices.Repeat([]float64{1}, channels), channels),
		Eps:      1e-5, Momentum: 0.1,
	}
}

// Params returns weight and bias.
func (n *BatchNorm2d) Params() []*Param { return []*Param{n.Weight, n.Bias} }

// Buffers returns the running statistics.
func (n *BatchNorm2d) Buffers() []*Param { return []*Param{n.Mean, n.Variance} }

// State returns the running statistics too.
func (n *BatchNorm2d) State() []*Param { return n.Buffers() }

// Forward takes and returns [Batch, Channels, ...].
func (n *BatchNorm2d) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.BatchNorm(one(n, in), n.Weight.Value(), n.Bias.Value(), autograd.BatchNormOptions{
		Eps: n.Eps, Mean: n.Mean, Variance: n.Variance, Momentum: n.Momentum, Evaluate: !c.Training,
	})
}
