package train

import (
	"cmp"
	"slices"
	"time"

	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// report holds the parts that reports of steps share. A part is made anew only if
// it changes, so that a report costs little more than the copy of the layer
// table.
type report struct {
	last  trace.Step // the last one that was made
	texts map[*nn.Layer]layerText
	// The bytes from which the last amounts were made.
	now, at, host [trace.CategoryCount]int64
}

// layerText is a layer's shape as text, and the shape from which it was made.
type layerText struct {
	shape tensor.Shape
	text  string
}

// Report returns the report of a step that has just ended: the event, and what
// every layer did in it. ProbeNS is the time it took to make the report.
// It belongs to the trainer's goroutine, and is called before the next step; what
// it returns never changes.
func (t *Trainer) Report(e *Event) trace.Step {
	began, m := time.Now(), &e.Memory
	s := trace.Step{
		Number: e.Step, Time: began.UnixMicro(), Duration: e.Duration.Nanoseconds(), Tokens: e.Tokens,
		Loss: e.Loss, Skipped: e.Skipped, Device: t.config.Device.Memory().Device(),
		Allocated: m.Allocated, Reserved: m.Reserved, PeakAllocated: m.PeakAllocated, PeakReserved: m.PeakReserved,
		Layers: t.layerTable(), ToHost: e.ToHost, FromHost: e.FromHost,
	}
	r := &t.report
	old := &r.last
	if s.Categories = old.Categories; old.Categories == nil || r.now != m.Now.Category {
		s.Categories = amounts(&m.Now.Category)
	}
	if s.AtPeak = old.AtPeak; old.AtPeak == nil || r.at != m.AtPeak {
		s.AtPeak = amounts(&m.AtPeak)
	}
	if s.Host = old.Host; r.host != m.Host {
		s.Host = amounts(&m.Host)
	}
	if s.Settings = e.Settings.list(); slices.Equal(s.Settings, old.Settings) {
		s.Settings = old.Settings
	}
	if e.Action != NoAction {
		s.Settings = ordered(append(s.Settings[:len(s.Settings):len(s.Settings)], trace.Value{Key: actionKey, Value: e.Action.String()}))
	}
	r.now, r.at, r.host = m.Now.Category, m.AtPeak, m.Host
	s.ProbeNS = time.Since(began).Nanoseconds()
	r.last = s
	return s
}

// list returns every setting as text, ordered by key.
func (s Settings) list() []trace.Value { return listOf(settingKeys, &s) }

func listOf(keys []setting, s *Settings) []trace.Value {
	list := make([]trace.Value, len(keys))
	for i, k := range keys {
		list[i] = trace.Value{Key: k.key, Value: k.get(s)}
	}
	return ordered(list)
}

// ordered sorts values by key.
func ordered(list []trace.Value) []trace.Value {
	slices.SortFunc(list, func(a, b trace.Value) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// amounts names the bytes of categories, in the order in which they are shown.
func amounts(bytes *[trace.CategoryCount]int64) []trace.Amount {
	list := make([]trace.Amount, len(trace.Categories))
	for i, c := range trace.Categories {
		list[i] = trace.Amount{Name: c.String(), Bytes: bytes[c]}
	}
	return list
}

// layerTable copies what the layers did in the last step.
func (t *Trainer) layerTable() []trace.Layer {
	layers := t.Layers()
	list := make([]trace.Layer, len(layers))
	for i, l := range layers {
		list[i] = trace.Layer{
			Name: l.Name, Class: l.Class, OutputShape: t.shapeText(l), DType: l.DType.String(),
			ParameterBytes: l.ParameterBytes, OutputBytes: l.OutputBytes, SavedBytes: l.SavedBytes,
			TransientPeakBytes: l.TransientPeakBytes,
			ForwardNS:          l.ForwardNS, BackwardNS: l.BackwardNS, RecomputeNS: l.RecomputeNS,
			Calls: l.Calls, Checkpointed: l.Checkpointed, OnHost: l.OnHost,
		}
	}
	return list
}

// shapeText writes a shape once, however many steps have it.
func (t *Trainer) shapeText(l *nn.Layer) string {
	known, ok := t.report.texts[l]
	if !ok || !known.shape.Equal(l.OutputShape) {
		known = layerText{l.OutputShape, l.OutputShape.String()}
		if t.report.texts == nil {
			t.report.texts = make(map[*nn.Layer]layerText)
		}
		t.report.texts[l] = known
	}
	return known.text
}
