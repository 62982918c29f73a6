package nn

import (
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// Layer describes a module in its model, and its work since the last [Ctx.Reset].
// Bytes are requested bytes. Times are the host's: on a device that queues its
// work, they are the time to queue it.
type Layer struct {
	Name           string // path from the model; "" is the model itself
	Class          string // such as "Linear"
	Module         Module
	ParameterBytes int64 // the module's own

	Calls       int // forward runs
	OutputShape tensor.Shape
	DType       device.DType
	OutputBytes int64 // of the last run; a view shares them with its input

	// SavedBytes counts the memory that the tape began to keep while the module's
	// own operations ran, without its children's. An activation counts once, for
	// the first layer that saved it, so the sum over all layers is the size of
	// all activations. If the tape runs several times, as for micro-batches,
	// SavedBytes is the largest run's.
	SavedBytes int64
	// TransientPeakBytes is how far memory rose during the module, in the worst
	// run, above the level when the module was done.
	TransientPeakBytes int64

	// Times of all runs, children included. If the device computes a product and
	// its activation together, their time counts for the product's layer. If it
	// computes a sum and a normalisation together, their time counts for the
	// normalisation. In the backward pass, the time for an activation's slope
	// counts for the layer after it.
	ForwardNS, BackwardNS, RecomputeNS int64
	// Checkpointed says that the module ran inside a checkpoint.
	Checkpointed bool
	// OnHost says that the module computed on the host of the tape's device.
	OnHost bool

	hooks  []*Hooks
	called bool

	run   int // the tape's run that the following field describes
	saved int64
}

// Layers returns the layers that ran since Reset, in the order of their first
// run. The next run changes them.
func (c *Ctx) Layers() []*Layer { return c.order }

// Reset clears the measurements of all layers; hooks stay. It is called between
// steps.
func (c *Ctx) Reset() {
	for _, l := range c.order {
		fresh := newLayer(l.Module) // parameters may have changed their type
		fresh.Name, fresh.hooks = l.Name, l.hooks
		*l = *fresh
	}
	c.order = nil
}

// Name gives a module that is part of no model, such as a loss, a name in the
// table of layers, and in the tags of what it allocates.
func (c *Ctx) Name(m Module, name string) { c.find(m).Name = name }

// layerOf finds the layer of a module that runs now.
func (c *Ctx) layerOf(m Module) *Layer {
	l := c.find(m)
	if !l.called {
		l.called = true
		c.order = append(c.order, l)
	}
	return l
}

// find finds the layer of a module. It takes a new module for a model of its own,
// until it meets a module above it.
func (c *Ctx) find(m Module) *Layer {
	if c.layers[m] == nil {
		c.adopt(m)
	}
	return c.layers[m]
}

func (c *Ctx) adopt(model Module) {
	Walk(model, func(path string, m Module) {
		l := c.layers[m]
		if l == nil {
			l = newLayer(m)
			c.layers[m] = l
		}
		if l.Name == "" {
			l.Name = path
		}
	})
}

func newLayer(m Module) *Layer {
	l := &Layer{Class: class(m), Module: m}
	for _, p := range m.Params() {
		l.ParameterBytes += p.Data().Bytes()
	}
	return l
}

// ran notes one forward run.
func (l *Layer) ran(out *autograd.Value, transient int64) {
	l.Calls++
	l.OutputShape, l.DType, l.OutputBytes = out.Shape(), out.DType(), out.Bytes()
	l.TransientPeakBytes = max(l.TransientPeakBytes, transient)
}

// saved counts memory that the tape began to keep.
func (c *Ctx) saved(_ string, bytes int64) {
	l := c.current
	if l == nil {
		return
	}
	if run := c.Runs(); l.run != run {
		l.run, l.saved = run, 0
	}
	l.saved += bytes
	l.SavedBytes = max(l.SavedBytes, l.saved)
}
