package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/tensor"
)

// Offload says which tensors live in the host's memory instead of the device's
// while they are not used. The zero value offloads nothing.
type Offload struct {
	Optimizer   bool   // state, and the step itself, which the processor computes
	Gradients   bool   // of parameters, from the moment they are complete
	Parameters  Layers // whose are on the device only while a module uses them
	Activations Layers // of which what the forward pass saves waits for the backward pass
}

// Layers are parts of a model: none of it, AllLayers, or the paths of some with
// all that is below them, joined by +.
type Layers string

// String returns the paths, or "none".
func (l Layers) String() string {
	if l == "" {
		return "none"
	}
	return string(l)
}

// AllLayers is the whole model.
const AllLayers Layers = "*"

// names returns the paths.
func (l Layers) names() []string {
	if l == "" || l == AllLayers {
		return nil
	}
	return strings.Split(string(l), "+")
}

// has reports whether a path is, or is below, one of the layers.
func (l Layers) has(path string) bool {
	return l == AllLayers || slices.ContainsFunc(l.names(), func(name string) bool {
		return path == name || strings.HasPrefix(path, name+".")
	})
}

// offloads are the parts of Offload by name, in the order in which they are
// shown. A part is one of its two kinds.
var offloads = []struct {
	name   string
	whole  func(*Offload) *bool
	layers func(*Offload) *Layers
}{
	{name: "optimizer", whole: func(o *Offload) *bool { return &o.Optimizer }},
	{name: "gradients", whole: func(o *Offload) *bool { return &o.Gradients }},
	{name: "parameters", layers: func(o *Offload) *Layers { return &o.Parameters }},
	{name: "activations", layers: func(o *Offload) *Layers { return &o.Activations }},
}

// Offloads returns what can be offloaded, by name.
func Offloads() []string {
	var list []string
	for _, part := range offloads {
		list = append(list, part.name)
	}
	return list
}

// String returns what ParseOffload reads: "none", or "optimizer+activations", or
// with some layers only "optimizer+activations=h.0+h.1".
func (o Offload) String() string {
	var list []string
	for _, part := range offloads {
		switch {
		case part.whole != nil && *part.whole(&o), part.layers != nil && *part.layers(&o) == AllLayers:
			list = append(list, part.name)
		case part.layers != nil && *part.layers(&o) != "":
			list = append(list, part.name+"="+string(*part.layers(&o)))
		}
	}
	if list == nil {
		return "none"
	}
	return strings.Join(list, "+")
}

// ParseOffload is the inverse of Offload.String. The parts may be in any order,
// and commas may join them as well, so no path has one of these signs. A word that
// is not the name of a part is one more layer of the part before.
func ParseOffload(text string) (Offload, error) {
	var o Offload
	if text == "none" {
		return o, nil
	}
	var open *Layers // of the part before
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == '+' || r == ',' }) {
		var ok bool
		if open, ok = o.add(word, open); !ok {
			o = Offload{}
			break
		}
	}
	if o == (Offload{}) {
		return o, fmt.Errorf("offload %q: want none, or some of %s joined by +; the last two may be of some layers only, as in activations=h.0+h.1", text, strings.Join(Offloads(), ", "))
	}
	return o, nil
}

// add adds a part, or a layer to the part that is open.
func (o *Offload) add(word string, open *Layers) (opened *Layers, ok bool) {
	name, layer, given := strings.Cut(word, "=")
	i := slices.Index(Offloads(), name)
	switch {
	case i < 0 && open != nil && !given:
		*open += Layers("+" + word)
		return open, true
	case i < 0 || given && (offloads[i].whole != nil || layer == "" || layer == string(AllLayers)):
		return nil, false
	case offloads[i].whole != nil:
		*offloads[i].whole(o) = true
		return nil, true
	case !given:
		*offloads[i].layers(o) = AllLayers
		return nil, true
	}
	opened = offloads[i].layers(o)
	*opened = Layers(layer)
	return opened, true
}

// offload applies the settings' Offload and Host to the step that begins. If they
// change, the host's allocator gives back its unused memory.
func (t *Trainer) offload(s *Settings) {
	o, h := s.Offload, t.homes(s)
	if d := t.config.Device; (o != t.current.Offload || s.Host != t.current.Host) && d.HostMemory() != nil {
		defer func() {
			d.Land()
			d.HostMemory().EmptyCache()
		}()
	}
	t.optimizer.Move(h.ofState)
	gradient := func(p *autograd.Variable) *tensor.Device { return h.of(o.Gradients || h.computes[p], ShardGradients) }
	for _, p := range t.parameters {
		p.Move(h.of(o.Parameters.has(p.Name()) || h.computes[p], ShardParameters))
		p.KeepGrad(gradient(p))
	}
	if t.fresh {
		t.parallel.divide(gradient)
	}
	t.ctx.PlaceLayers(nil)
	if s.Host != "" {
		t.ctx.PlaceLayers(s.Host.has)
	}
	t.ctx.OffloadSaved(nil)
	if o.Activations != "" {
		t.ctx.OffloadSaved(o.Activations.has)
	}
}
