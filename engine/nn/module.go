package nn

import (
	"fmt"
	"strings"

	"github.com/memtop/memtop/engine/autograd"
)

// Param is a leaf that training changes. Its name is the path of its module
// and its role, such as "h.0.mlp.fc.weight".
type Param = autograd.Variable

// Module is a layer or a model.
type Module interface {
	// Forward computes the module's value. It is called by Ctx.Call only, and
	// calls other modules by Ctx.Call only.
	Forward(c *Ctx, in ...*autograd.Value) *autograd.Value
	// Params returns the module's own parameters, without its children's.
	Params() []*Param
	// Children returns the modules directly within this one, in the order in
	// which they run.
	Children() []Child
}

// Child is a module within another one.
type Child struct {
	Name   string
	Module Module
}

// leaf is embedded by modules without children.
type leaf struct{}

// Children returns nothing.
func (leaf) Children() []Child { return nil }

// stateless is embedded by modules without parameters and children. It takes
// room, because Go may put two empty structs at one address, and a module is
// known by its address.
type stateless struct {
	leaf
	_ byte
}

// Params returns nothing.
func (stateless) Params() []*Param { return nil }

// Walk calls f for m and every module below it, parents first, with the path
// from m: "" for m itself.
func Walk(m Module, f func(path string, m Module)) {
	walk("", m, f)
}

func walk(path string, m Module, f func(path string, m Module)) {
	f(path, m)
	for _, child := range m.Children() {
		walk(Join(path, child.Name), child.Module, f)
	}
}

// contains reports whether is returns true for m or a module below it.
func contains(m Module, is func(Module) bool) (found bool) {
	Walk(m, func(_ string, m Module) { found = found || is(m) })
	return found
}

// Join returns the path of a child: "" is the path of the model.
func Join(path, name string) string {
	return strings.Trim(path+"."+name, ".")
}

// Params returns all parameters of m and below, in the order of Walk; one that
// several modules share comes once.
func Params(m Module) []*Param { return collect(m, Module.Params) }

// collect calls own for m and every module below, and returns the results, each
// once.
func collect(m Module, own func(Module) []*Param) []*Param {
	var list []*Param
	seen := make(map[*Param]bool)
	Walk(m, func(_ string, m Module) {
		for _, p := range own(m) {
			if !seen[p] {
				seen[p] = true
				list = append(list, p)
			}
		}
	})
	return list
}

// Buffered is a module that computes with tensors without gradients, such as
// tables.
type Buffered interface {
	Module
	Buffers() []*Param
}

// Buffers returns all buffers of m and below, each once.
func Buffers(m Module) []*Param {
	return collect(m, func(m Module) []*Param {
		if b, ok := m.(Buffered); ok {
			return b.Buffers()
		}
		return nil
	})
}

// Close releases all parameters of m and below with their gradients, and the
// buffers.
func Close(m Module) {
	for _, p := range append(Params(m), Buffers(m)...) {
		p.Close()
	}
}

// class is a module's type as the layer table shows it.
func class(m Module) string {
	name := fmt.Sprintf("%T", m)
	return name[strings.LastIndexByte(name, '.')+1:]
}

// one returns the only input of a module. It panics when there are others.
func one(m Module, in []*autograd.Value) *autograd.Value {
	if len(in) != 1 {
		panic(fmt.Sprintf("nn: %s takes 1 input, got %d", class(m), len(in)))
	}
	return in[0]
}
