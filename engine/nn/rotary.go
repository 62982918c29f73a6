package nn

import (
	"math"

	"github.com/memtop/memtop/engine/autograd"
)

// Rotary is the rotary position embedding of Su et al. 2021: it turns queries and
// keys by angles that grow with their row. It pairs the two halves of a head, as
// Llama does. It keeps two tables, [Rows, 1, Dim], which the layers of a model
// share.
type Rotary struct {
	cos, sin *Param // buffers; the sines of a head's first half are negative
	dim      int
}

// NewRotary makes the tables for a number of rows and an even width of heads.
// Each pair of elements turns base^(1/width) times slower than the pair before;
// 10,000 is Llama's base.
func NewRotary(b Builder, rows, dim int, base float64) *Rotary {
	cos, sin := make([]float64, rows*dim), make([]float64, rows*dim)
	half := dim / 2
	for j := range half {
		step := math.Pow(base, -float64(j)/float64(half))
		turnS, turnC := math.Sincos(step)
		s, c := 0.0, 1.0
		for row := range rows {
			at := row*dim + j
			cos[at], cos[at+half], sin[at], sin[at+half] = c, c, -s, s
			c, s = c*turnC-s*turnS, s*turnC+c*turnS
		}
	}
	return &Rotary{cos: b.Buffer("cos", cos, rows, 1, dim), sin: b.Buffer("sin", sin, rows, 1, dim), dim: dim}
}

// turn returns x, [Batch, Rows, Heads·Dim], with every head turned by its row.
func (r *Rotary) turn(c *Ctx, x *autograd.Value) *autograd.Value {
	s := x.Shape()
	return c.Frame(func() *autograd.Value {
		heads := []int{s[0], s[1], s[2] / r.dim, r.dim}
		halves := c.View(x, s[0], s[1], s[2]/r.dim, 2, r.dim/2)
		swapped := c.View(c.Concat(3, c.Narrow(halves, 3, 1, 1), c.Narrow(halves, 3, 0, 1)), heads...)
		a := c.Mul(c.View(x, heads...), r.rows(c, r.cos, x))
		b := c.Mul(swapped, r.rows(c, r.sin, x))
		return c.View(c.Add(a, b), s...)
	})
}

// rows returns the first rows of a table, as many as x has, in x's type.
func (r *Rotary) rows(c *Ctx, table *Param, x *autograd.Value) *autograd.Value {
	return c.Narrow(c.Cast(table.Value(), x.DType()), 0, 0, x.Shape()[1])
}
