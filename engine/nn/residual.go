package nn

import (
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/choice"
	"github.com/memtop/memtop/engine/device"
)

// Residual is the element type of the residual stream: the sum that goes through
// a model's blocks, and to which each block adds its result.
type Residual uint8

// The types.
const (
	FullResidual Residual = iota // as the embeddings are
	BF16Residual                 // bfloat16: half of float32, each block's sum rounded to 8 bits
)

// Residuals returns every type.
func Residuals() []Residual { return []Residual{FullResidual, BF16Residual} }

// String returns the name that settings use, such as "bf16".
func (r Residual) String() string { return [...]string{FullResidual: "full", BF16Residual: "bf16"}[r] }

// ParseResidual is the inverse of Residual.String.
func ParseResidual(name string) (Residual, error) {
	return choice.Parse("residual", Residuals(), name)
}

// HasResidual reports whether a model has blocks to which a Residual applies.
func HasResidual(m Module) bool {
	return contains(m, func(m Module) bool {
		switch m.(type) {
		case *Block, *LlamaBlock:
			return true
		}
		return false
	})
}

// of returns the sum's type for embeddings of the given type. float64 stays
// float64, for gradient checks.
func (r Residual) of(embeddings device.DType) device.DType {
	if r == BF16Residual && embeddings != device.Float64 {
		return device.BFloat16
	}
	return embeddings
}

// branch returns x + drop(m(norm(x))), of the type of x; drop may be nil.
func branch(c *Ctx, x *autograd.Value, norm, m Module, drop *Dropout) *autograd.Value {
	return c.Frame(func() *autograd.Value {
		y := c.CallLast(m, c.Call(norm, x))
		if drop != nil {
			y = c.CallLast(drop, y)
		}
		return c.AddAs(x.DType(), x, y)
	})
}
