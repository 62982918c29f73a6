package layers

import (
	"context"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
)

// question asks for the layers of the last step that had ended at a moment.
type question struct {
	index page.Edition
	step  int64 // its number
}

// answer is what a question gets: the layers' tree, with times that do not flicker.
type answer struct {
	analysis.LayerTable
	steps   int // number of steps in the median of times
	largest int // row that itself keeps the most for the backward pass, -1 for none
}

// settledOver is the number of steps for the medians of times: single times vary
// too much to be compared.
const settledOver = 9

func ask(_ context.Context, q question) *answer {
	t := &answer{LayerTable: analysis.Layers(q.index.Trace(), q.step), largest: -1}
	if t.Step == nil {
		return t
	}
	t.settle(q.index.Trace().Steps)
	for i := range t.Rows {
		if saved := t.Rows[i].SavedBytes; saved > 0 && (t.largest < 0 || saved > t.Rows[t.largest].SavedBytes) {
			t.largest = i
		}
	}
	return t
}

// settle replaces the times by the medians of the last steps with the same
// layers and the same settings.
func (t *answer) settle(steps []trace.Step) {
	var same []*trace.Step
	for i := len(steps) - 1; i >= 0 && len(same) < settledOver; i-- {
		s := &steps[i]
		if s.Number > t.Step.Number || len(s.Layers) == 0 {
			continue
		}
		if len(s.Layers) != len(t.Step.Layers) || !slices.Equal(s.Settings, t.Step.Settings) {
			break
		}
		same = append(same, s)
	}
	t.steps = len(same)
	at := make(map[string]int, len(t.Step.Layers))
	for i := range t.Step.Layers {
		at[t.Step.Layers[i].Name] = i
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		k := at[row.Name]
		row.ForwardNS = median(same, k, func(l *trace.Layer) int64 { return l.ForwardNS })
		row.BackwardNS = median(same, k, func(l *trace.Layer) int64 { return l.BackwardNS })
		row.RecomputeNS = median(same, k, func(l *trace.Layer) int64 { return l.RecomputeNS })
		row.Sum.ForwardNS, row.Sum.BackwardNS, row.Sum.RecomputeNS = row.ForwardNS, row.BackwardNS, row.RecomputeNS
	}
	t.Total.ForwardNS, t.Total.BackwardNS, t.Total.RecomputeNS = 0, 0, 0
	for i := range t.Rows {
		if sum := &t.Rows[i].Sum; t.Rows[i].Parent < 0 {
			t.Total.ForwardNS += sum.ForwardNS
			t.Total.BackwardNS += sum.BackwardNS
			t.Total.RecomputeNS += sum.RecomputeNS
		}
	}
}

func median(steps []*trace.Step, layer int, of func(*trace.Layer) int64) int64 {
	values := make([]int64, len(steps))
	for i, s := range steps {
		values[i] = of(&s.Layers[layer])
	}
	slices.Sort(values)
	return values[len(values)/2]
}
