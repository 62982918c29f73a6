package nn

import (
	"slices"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/tensor"
)

// PlaceLayers chooses the layers that compute on the host of the tape's device, by
// their path; nil chooses none. A chosen layer includes all that is below it. It
// holds for the layers that are called from now on.
func (c *Ctx) PlaceLayers(onHost func(path string) bool) { c.onHost = onHost }

// place returns the device on which a layer computes.
func (c *Ctx) place(l *Layer) *tensor.Device {
	if c.onHost != nil && c.onHost(l.Name) {
		return c.Home().Host()
	}
	return c.Home()
}

// bring returns the inputs of a layer on its device, each copied once. A layer of
// which a part is on the host gets them as they are, because that part may be their
// only reader.
func (c *Ctx) bring(l *Layer, in []*autograd.Value) []*autograd.Value {
	if c.onHost == nil || c.Device() == c.Home() && contains(l.Module, func(m Module) bool { return c.place(c.find(m)) != c.Home() }) {
		return in
	}
	in = slices.Clone(in)
	for i, x := range in {
		in[i] = c.Here(x)
	}
	return in
}
