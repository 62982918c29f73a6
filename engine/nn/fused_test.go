package nn_test

import (
	"testing"

	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
)

// TestAnActivationDoneWithAProductHasItsRowInTheTable looks at the rows of an
// MLP's layers, with and without a hook; with a hook each operation is computed
// separately.
func TestAnActivationDoneWithAProductHasItsRowInTheTable(t *testing.T) {
	rows := func(hooked bool) (product, activation nn.Layer) {
		r := newTrainer(t, small, nn.Options{})
		seen := false
		if hooked {
			r.c.AddHooks(nn.Hooks{Backward: func(_ *nn.Ctx, l *nn.Layer, grad *tensor.Tensor) {
				seen = seen || l.Name == "h.0.mlp.gelu" && grad != nil
			}})
		}
		r.c.Run(func() {
			r.c.Backward(r.forward(r.c))
		})
		if seen != hooked {
			t.Errorf("a hook has seen the activation's gradient: %v", seen)
		}
		for _, l := range r.c.Layers() {
			switch l.Name {
			case "h.0.mlp.fc":
				product = *l
			case "h.0.mlp.gelu":
				activation = *l
			}
		}
		return product, activation
	}
	product, activation := rows(false)
	productApart, activationApart := rows(true)
	for _, pair := range [][2]nn.Layer{{product, productApart}, {activation, activationApart}} {
		if a, b := pair[0], pair[1]; a.OutputBytes != b.OutputBytes || a.SavedBytes != b.SavedBytes || a.Calls != b.Calls || a.OutputBytes == 0 {
			t.Errorf("%s: %d bytes, %d saved, %d calls; computed by itself %d, %d, %d", a.Name,
				a.OutputBytes, a.SavedBytes, a.Calls, b.OutputBytes, b.SavedBytes, b.Calls)
		}
	}
	if product.ForwardNS <= activation.ForwardNS {
		t.Errorf("the product took %d ns and the activation, which was done with it, %d", product.ForwardNS, activation.ForwardNS)
	}
}
