package train

import (
	"fmt"
	"slices"
	"strings"

	"memtop/engine/tensor"
)

// Offload says what lives in the host's memory instead of the device's while it
// is not used. The zero value is nothing. It is immutable.
type Offload struct {
	Optimizer   bool // state, and the step itself, which the processor computes
	Gradients   bool // of parameters, from the moment they are complete
	Parameters  bool // but for the time in which a module uses them
	Activations bool // what the forward pass saves for the backward pass
}

// offloads are the parts of Offload by name, in the order in which they are
// shown.
var offloads = []struct {
	name string
	of   func(*Offload) *bool
}{
	{"optimizer", func(o *Offload) *bool { return &o.Optimizer }},
	{"gradients", func(o *Offload) *bool { return &o.Gradients }},
	{"parameters", func(o *Offload) *bool { return &o.Parameters }},
	{"activations", func(o *Offload) *bool { return &o.Activations }},
}

// Offloads returns what can be offloaded, by name.
func Offloads() []string {
	var list []string
	for _, part := range offloads {
		list = append(list, part.name)
	}
	return list
}

// String returns what ParseOffload reads: "none", or "optimizer+gradients".
func (o Offload) String() string {
	var list []string
	for _, part := range offloads {
		if *part.of(&o) {
			list = append(list, part.name)
		}
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, "+")
}

// ParseOffload is the inverse of Offload.String. The parts may be in any order,
// and commas may join them as well.
func ParseOffload(text string) (Offload, error) {
	var o Offload
	if text == "none" {
		return o, nil
	}
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '+' || r == ',' }) {
		i := slices.Index(Offloads(), name)
		if i < 0 {
			return Offload{}, fmt.Errorf("offload %q: want none, or some of %s joined by +", text, strings.Join(Offloads(), ", "))
		}
		*offloads[i].of(&o) = true
	}
	if o == (Offload{}) {
		return o, fmt.Errorf("offload %q: want none, or some of %s joined by +", text, strings.Join(Offloads(), ", "))
	}
	return o, nil
}

// offload has the step that begins use the host for what o says.
func (t *Trainer) offload(o Offload) {
	t.optimizer.Move(t.config.homes.of(o.Optimizer, ShardOptimizer))
	for _, p := range t.parameters {
		p.Move(t.config.homes.of(o.Parameters, ShardParameters))
		p.KeepGrad(t.config.homes.of(o.Gradients, ShardGradients))
	}
	t.ctx.OffloadSaved(nil)
	if o.Activations {
		t.ctx.OffloadSaved(func(string) bool { return true })
	}
}

// Home is where a model is to be made on a device so that its parameters are
// where they will live: a model that is larger than the device fits on its host.
// It fails, as tensors do, when the host cannot be reached.
func (o Offload) Home(d *tensor.Device) *tensor.Device {
	return homes{device: d}.of(o.Parameters, ShardParameters)
}
