package analysis

import "testing"

// forwards is a program that trains for a step or not at all, and then only runs
// forward passes. Sizes are in MiB.
type forwards struct {
	trains bool
	wide   int64 // what the step that trains keeps
	layers int
	hangs  bool // each step's graph hangs on the one before
	graph  bool // nobody wrote no_grad
}

func (p forwards) trace(t *testing.T) *Index {
	t.Helper()
	m := newMaker()
	category := map[bool]string{true: "activation", false: "inference"}[p.graph]
	made, kept := m.tag(category, "h", "output"), m.tag("activation", "h", "output")
	get := func(line int, mebibytes int64) uint64 { return m.get(made, m.stack(line), mebibytes*mib) }
	m.get(m.tag("parameter", "h", "weight"), m.stack(1), 2*mib)
	if p.trains {
		m.run(func() {
			held, last := m.get(kept, m.stack(2), p.wide*mib), m.get(kept, m.stack(4), mib)
			grad := m.get(m.tag("backward-temporary", "h", "grad"), m.stack(3), mib)
			m.drop(held, last, grad)
		})
	}
	var graph, result []uint64
	for range 8 {
		m.run(func() {
			var held []uint64
			gone := func(blocks ...uint64) {
				if held = append(held, blocks...); !p.graph {
					m.drop(blocks...)
				}
			}
			x := get(10, 1)
			for range p.layers {
				norm, up := get(20, 1), get(21, 4)
				next := get(22, 1)
				gone(norm, up, x)
				x = next
			}
			logits := get(30, 20)
			gone(x)
			switch { // the name is another's now, and the graph goes with its result
			case !p.graph:
				m.drop(result...)
			case !p.hangs:
				m.drop(append(result, graph...)...)
			}
			graph, result = held, []uint64{logits}
		})
	}
	tr := m.trace()
	tr.Live = nil
	return NewIndex(tr, &tr.Devices[0])
}

// TestWithoutAGraphTheSavingIsWithinWhatIsSaid compares with the peak of the same program
// under no_grad.
func TestWithoutAGraphTheSavingIsWithinWhatIsSaid(t *testing.T) {
	for name, test := range map[string]struct {
		forwards
		width int64 // of what is said, in MiB
	}{
		"layers":                   {forwards{layers: 8}, 7},
		"no layers":                {forwards{layers: 1}, 7},
		"the graphs of all steps":  {forwards{layers: 8, hangs: true}, 7 + 7*20},
		"the peak moves to a step": {forwards{layers: 8, trains: true, wide: 60}, 0},
		"after a step that trains": {forwards{layers: 8, trains: true, wide: 1}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			graph := test.forwards
			graph.graph = true
			x, after := graph.trace(t), test.trace(t)
			want := x.Summary().PeakRequested - after.Summary().PeakRequested
			for _, f := range x.allFindings() {
				switch f.Kind.Name {
				case "no_grad":
					if least, most := f.Saving, max(f.Saving, f.Most); want < least || want > most || most-least > test.width*mib {
						t.Errorf("saves %d to %d, want %d", least, most, want)
					}
					want = -1
				case "growth", "stale_results", "checkpointing":
					t.Errorf("found %q", f.Text())
				}
			}
			if want >= 0 {
				t.Error("autograd is not named")
			}
		})
	}
}
