package train

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/nn"
)

// # Layers on the host
//
// Settings.Host names layers that compute on the device's host. What only they
// read lives there too: parameters with their gradients and the optimizer's state.

// lossName is the path of the loss, which is no part of a model.
const lossName = "loss"

// ParseHost reads "none" or the paths of layers joined by +.
func ParseHost(text string) (Layers, error) {
	l := Layers(text)
	switch {
	case text == "none":
		return "", nil
	case l == AllLayers || slices.Contains(l.names(), "") || text == "":
		return "", fmt.Errorf("host %q: want none, or layers joined by +, such as wte+lm_head+loss", text)
	}
	return l, nil
}

// owns returns the parameters of a model that no layer outside of l has.
func (l Layers) owns(model nn.Module) map[*autograd.Variable]bool {
	if l == "" {
		return nil
	}
	list := make(map[*autograd.Variable]bool)
	nn.Walk(model, func(path string, m nn.Module) {
		for _, p := range m.Params() {
			elsewhere, seen := list[p]
			list[p] = l.has(path) && (!seen || elsewhere)
		}
	})
	return list
}
