package train

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/nn"
)

// Host says which layers compute on the device's host. What only they read lives
// there too: parameters with their gradients and the optimizer's state. The zero
// value computes everything on the device.
type Host struct {
	layers Layers
	auto   bool // layers are those that pay, once chosen is set
	chosen bool
}

// lossName is the path of the loss, which is no part of a model.
const lossName = "loss"

// String returns what ParseHost reads.
func (h Host) String() string {
	switch {
	case h.auto:
		return "auto"
	case h.layers == "":
		return "none"
	}
	return string(h.layers)
}

// ParseHost reads "none", "auto", or the paths of layers joined by +.
func ParseHost(text string) (Host, error) {
	switch {
	case text == "none":
		return Host{}, nil
	case text == "auto":
		return Host{auto: true}, nil
	case text == string(AllLayers) || slices.Contains(Layers(text).names(), "") || text == "":
		return Host{}, fmt.Errorf("host %q: want none, auto, or layers joined by +, such as wte+lm_head+loss", text)
	}
	return Host{layers: Layers(text)}, nil
}

// owns returns the parameters and running statistics of a model that no layer on
// the device has.
func (h Host) owns(model nn.Module) map[*autograd.Variable]bool {
	if h.layers == "" {
		return nil
	}
	list := make(map[*autograd.Variable]bool)
	nn.Walk(model, func(path string, m nn.Module) {
		own := m.Params()
		if s, ok := m.(nn.Stateful); ok {
			own = slices.Concat(own, s.State())
		}
		for _, p := range own {
			elsewhere, seen := list[p]
			list[p] = h.layers.has(path) && (!seen || elsewhere)
		}
	})
	return list
}
