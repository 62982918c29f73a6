package wire

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// steps keeps the steps that came last, ascending. What they take is bounded: of
// the oldest the layers are forgotten first, then they themselves are, but for
// those around a change of settings, by which it is measured.
type steps struct {
	room    int64 // bytes, half of them for layers
	all     []trace.Step
	layered int   // steps before this one have no layers
	layers  int64 // how many are kept
}

func (s *steps) add(step trace.Step) {
	n := len(s.all)
	if n > 0 && step.Number <= s.all[n-1].Number {
		return // it came twice: the connection was lost in between
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

// around is how many steps before a change of settings, and from it on, are kept
// for as long as there is room: more than it is measured by.
const around = 16

// thin forgets steps of the older half. Traces have the list that was, so this is
// another one.
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

// dropLayers forgets the layers of the oldest steps, until half are left, in
// another list likewise.
func (s *steps) dropLayers() {
	s.all = slices.Clone(s.all)
	for ; s.layered < len(s.all)-1 && s.layers > s.layersKept()/2; s.layered++ {
		s.layers -= int64(cap(s.all[s.layered].Layers))
		s.all[s.layered].Layers = nil
	}
}

// list returns the steps; it never changes.
func (s *steps) list() []trace.Step { return slices.Clip(s.all) }

// share makes a step's texts those of the step before where they are equal, so
// that thousands of steps hold them once.
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
