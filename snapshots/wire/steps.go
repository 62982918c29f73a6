package wire

import (
	"slices"

	"memtop/snapshots/trace"
)

// steps keeps the steps that came last, ascending. What they take is bounded:
// of the oldest the layers are forgotten first, then they themselves are.
type steps struct {
	all     []trace.Step
	layered int   // steps before this one have no layers
	bytes   int64 // of the layers kept
}

// What is kept of steps.
const (
	stepsKept       = 1 << 18
	layersKeptBytes = 64 << 20
	layerBytes      = 160 // of one layer, with what its texts take
)

func (s *steps) add(step trace.Step) {
	if n := len(s.all); n > 0 && step.Number <= s.all[n-1].Number {
		return // told twice: the connection was lost in between
	}
	if n := len(s.all); n > 0 {
		share(&step, &s.all[n-1])
	}
	if len(s.all) == stepsKept {
		s.all = slices.Clone(s.all[stepsKept/4:])
		s.layered = max(0, s.layered-stepsKept/4)
	}
	s.all = append(s.all, step)
	if s.bytes += s.size(&step); s.bytes > layersKeptBytes {
		s.forget()
	}
}

func (s *steps) size(step *trace.Step) int64 { return layerBytes * int64(len(step.Layers)) }

// forget drops the layers of the oldest steps, until half of the memory is
// left. Traces have the list that was, so this is another one.
func (s *steps) forget() {
	s.all = slices.Clone(s.all)
	for ; s.layered < len(s.all)-1 && s.bytes > layersKeptBytes/2; s.layered++ {
		s.bytes -= s.size(&s.all[s.layered])
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
	for i := range step.Categories {
		if i < len(before.Categories) {
			same(&step.Categories[i].Name, before.Categories[i].Name)
		}
	}
	for i := range step.AtPeak {
		if i < len(before.AtPeak) {
			same(&step.AtPeak[i].Name, before.AtPeak[i].Name)
		}
	}
	for i := range min(len(step.Layers), len(before.Layers)) {
		now, was := &step.Layers[i], &before.Layers[i]
		same(&now.Name, was.Name)
		same(&now.Class, was.Class)
		same(&now.OutputShape, was.OutputShape)
		same(&now.DType, was.DType)
	}
}

func same(now *string, was string) {
	if *now == was {
		*now = was
	}
}
