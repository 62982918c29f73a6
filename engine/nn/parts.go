package nn

import "github.com/memtop/memtop/engine/autograd"

// Parts holds a module's own parameters and the modules within it. Each is named
// once, when it is made. A module that embeds Parts has to define only Forward:
//
//	type twoLayers struct {
//		nn.Parts
//		first, second *nn.Linear
//	}
//
//	func newTwoLayers(b nn.Builder) *twoLayers {
//		m := &twoLayers{Parts: nn.NewParts(b)}
//		m.first = m.Linear("first", 8, 16)
//		…
type Parts struct {
	builder  Builder
	params   []*Param
	children []Child
}

// NewParts returns the parts of the module that b makes, none yet.
func NewParts(b Builder) Parts { return Parts{builder: b} }

// Linear makes a [Linear] with a bias within the module, and appends it to its children. (It
// contains no closure: stack traces would show the closure in the place of the
// caller's line.)
func (p *Parts) Linear(name string, in, out int) *Linear {
	l := NewLinear(p.builder.In(name), in, out, true)
	p.children = append(p.children, Child{Name: name, Module: l})
	return l
}

// Param makes a parameter of the module's own, see [Builder.Param].
func (p *Parts) Param(role string, init Init, shape ...int) *Param {
	made := p.builder.Param(role, init, shape...)
	p.params = append(p.params, made)
	return made
}

// Params returns the module's own parameters in the order in which they were made.
func (p *Parts) Params() []*Param { return p.params }

// Children returns the modules within in the order in which they were made.
func (p *Parts) Children() []Child { return p.children }

// Chain calls the modules within one after the other, as a [Sequential] does.
func (p *Parts) Chain(c *Ctx, in ...*autograd.Value) *autograd.Value {
	return chain(c, p.children, in...)
}
