package analysis

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// trained has two steps of a model of eight layers: what each keeps for backward is
// given, and what the program says that it used.
func trained(t *testing.T, keeps [2]int, settings [2][]trace.Value) *Index {
	t.Helper()
	m := newMaker()
	kept, gradient, weights := m.tag("activation", "h", "output"), m.tag("gradient", "h", "grad"), m.tag("parameter", "h", "weight")
	m.get(weights, m.stack(1), 4<<20)
	for step := range keeps {
		m.run(func() {
			var held []uint64
			for range keeps[step] {
				held = append(held, m.get(kept, m.stack(10), 2<<20), m.get(kept, m.stack(20), 1<<20), m.get(kept, m.stack(30), 1<<20))
			}
			held = append(held, m.get(gradient, m.stack(40), 1<<20))
			m.drop(held...)
		})
	}
	tr := m.trace()
	for step := range tr.Steps {
		tr.Steps[step].Settings = settings[step]
	}
	return NewIndex(tr, &tr.Devices[0])
}

func TestLiveSavingsAreOfTheLastStepAndWhatIsOnInIt(t *testing.T) {
	off := []trace.Value{{Key: "amp", Value: "off"}, {Key: "checkpoint", Value: "none"}}
	for name, test := range map[string]struct {
		keeps [2]int
		last  []trace.Value
		want  []string
		peak  int64
	}{
		"nothing is on": {[2]int{8, 8}, off, []string{"checkpointing", "mixed_precision"}, 37 << 20},
		// One layer is computed again at a time.
		"C was pressed": {
			[2]int{8, 1},
			[]trace.Value{{Key: "amp", Value: "off"}, {Key: "checkpoint", Value: "block"}},
			[]string{"mixed_precision"},
			9 << 20,
		},
		"A was pressed": {
			[2]int{8, 8},
			[]trace.Value{{Key: "amp", Value: "bf16"}, {Key: "checkpoint", Value: "none"}},
			[]string{"checkpointing"},
			37 << 20,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range trained(t, test.keeps, [2][]trace.Value{off, test.last}).Findings() {
				switch f.Kind.Name {
				case "checkpointing", "mixed_precision":
					got = append(got, f.Kind.Name)
				case "peak":
					if f.Bytes != test.peak {
						t.Errorf("the peak is %d, want %d of the last step", f.Bytes, test.peak)
					}
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
