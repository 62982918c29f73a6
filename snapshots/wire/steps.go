package wire

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// steps keeps the last steps, ascending, within a bound on their memory. It first
// drops the layers of the oldest steps, then the steps themselves, except those
// around a change of settings, which are needed to measure the change.
type steps struct {
	room    int64 // bytes, half of them for layers
	all     []trace.Step
	layered int   // steps before this one have no layers
	layers  int64 // how many layers are kept
}

func (s *steps) add(step trace.Step) {
	n := len(s.all)
	if n > 0 && step.Number <= s.all[n-1].Number {
		return // the step arrived twice: the connection was lost in between
	}
	if n > 0 {
		share(&step, &s.all[n-1])
	}
	if most := int(s.room / 2 / stepBytes); n >= max(most, 4) {
		s.thin()
	}
	s.all = append(s.all, step)
	if s.layers += int64(cap(step.Layers)); s.layers > s.layersKept() {
		s.dropLayers()
	}
}

func (s *steps) layersKept() int64 { return s.room / 2 / layerBytes }

// around is how many steps before a change of settings, and after it, are kept as
// long as there is room: more than measuring it needs.
const around = 16

// thin drops steps of the older half. Traces use the old list, so thin makes a
// new one.
func (s *steps) thin() {
	half := len(s.all) / 2
	old, until := make([]trace.Step, 0, len(s.all)), 0
	for i := 1; i < min(half+around, len(s.all)); i++ {
		if from := max(i-around, until); from < half && !slices.Equal(s.all[i].Settings, s.all[i-1].Settings) {
			until = min(i+around, half)
			old = append(old, s.all[from:until]...)
		}
	}
	old = old[max(0, len(old)-half/2):]
	for i := range old {
		old[i].Layers = nil
	}
	s.all, s.layered, s.layers = append(old, s.all[half:]...), len(old), 0
	for i := range s.all {
		s.layers += int64(cap(s.all[i].Layers))
	}
}

// dropLayers drops the layers of the oldest steps until half are left, also in a
// new list.
func (s *steps) dropLayers() {
	s.all = slices.Clone(s.all)
	for ; s.layered < len(s.all)-1 && s.layers > s.layersKept()/2; s.layered++ {
		s.layers -= int64(cap(s.all[s.layered].Layers))
		s.all[s.layered].Layers = nil
	}
}

// list returns the steps; it never changes.
func (s *steps) list() []trace.Step { return slices.Clip(s.all) }

// share replaces a step's texts by equal texts of the last step, so that
// thousands of steps hold them once.
func share(step, before *trace.Step) {
	if slices.Equal(step.Settings, before.Settings) {
		step.Settings = before.Settings
	}
	shareNames(step.Categories, before.Categories)
	shareNames(step.AtPeak, before.AtPeak)
	shareNames(step.Host, before.Host)
	for i := range min(len(step.Layers), len(before.Layers)) {
		now, was := &step.Layers[i], &before.Layers[i]
		same(&now.Name, was.Name)
		same(&now.Class, was.Class)
		same(&now.OutputShape, was.OutputShape)
		same(&now.DType, was.DType)
	}
}

func shareNames(now, was []trace.Amount) {
	for i := range min(len(now), len(was)) {
		same(&now[i].Name, was[i].Name)
	}
}

func same(now *string, was string) {
	if *now == was {
		*now = was
	}
}
