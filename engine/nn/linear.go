package nn

import "github.com/memtop/memtop/engine/autograd"

// Linear is y = x·wᵀ + b on the last dimension.
type Linear struct {
	leaf
	Weight *Param // [Out, In]
	Bias   *Param // [Out], or nil
	// Classes says that the outputs are scores of classes. Their number need not
	// be round: see Options.PadVocab.
	Classes bool
}

// NewLinear makes a Linear as PyTorch initialises it: weight and bias evenly
// within ±1/√in.
func NewLinear(b Builder, in, out int, bias bool) *Linear {
	l := &Linear{Weight: b.Param("weight", FanIn(in), out, in)}
	if bias {
		l.Bias = b.Param("bias", FanIn(in), out)
	}
	return l
}

// NewLinearNormal makes a Linear as GPT-2 initialises it: weights normal with
// the given deviation, bias 0.
func NewLinearNormal(b Builder, in, out int, bias bool, std float64) *Linear {
	l := &Linear{Weight: b.Param("weight", Normal(std), out, in)}
	if bias {
		l.Bias = b.Param("bias", Constant(0), out)
	}
	return l
}

// Params returns the weight and the bias, if there is one.
func (l *Linear) Params() []*Param { return present(l.Weight, l.Bias) }

// Forward takes [..., In] and returns [..., Out].
func (l *Linear) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	if l.Classes {
		l.Weight.PadCasts(c.vocabMultiple())
	}
	return c.Linear(one(l, in), l.Weight.Value(), valueOf(l.Bias))
}

// present drops the parameters that a module does not have.
func present(list ...*Param) []*Param {
	var out []*Param
	for _, p := range list {
		if p != nil {
			out = append(out, p)
		}
	}
	return out
}

func valueOf(p *Param) *autograd.Value {
	if p == nil {
		return nil
	}
	return p.Value()
}

// Embedding is a table of rows that are looked up by number.
type Embedding struct {
	leaf
	Weight *Param // [Rows, Width]
}

// NewEmbedding makes a table with normally distributed elements: deviation 1 is
// PyTorch's, 0.02 GPT-2's.
func NewEmbedding(b Builder, rows, width int, std float64) *Embedding {
	return &Embedding{Weight: b.Param("weight", Normal(std), rows, width)}
}

// Params returns the table.
func (e *Embedding) Params() []*Param { return []*Param{e.Weight} }

// Forward takes whole numbers and returns their shape with Width appended.
func (e *Embedding) Forward(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return c.Embedding(e.Weight.Value(), one(e, in))
}
