package analysis

import (
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// deep is a program with a stack of layers. Sizes are in MiB.
type deep struct {
	layers      int
	passing     int64 // what a layer's forward pass needs only for a while
	step        int64 // what the optimizer's step needs
	late        bool  // a layer's first operation leaves a gradient when all that the layer kept is gone
	plain       bool  // a layer begins with the operation whose line is called again at its end
	twice       bool  // the operation at a layer's end is also called within it
	named       bool  // a list keeps the result of every step
	listed      bool  // a list keeps the result of every layer until the step ends
	checkpoints bool  // each layer is computed again in backward
}

// trace has three steps of the program, after some events that are about nothing else.
func (d deep) trace(t *testing.T, before int) *Index {
	t.Helper()
	m := newMaker()
	kept, made, weights := m.tag("activation", "h", "output"), m.tag("backward-temporary", "h", "grad"), m.tag("parameter", "h", "weight")
	get := func(tag trace.NoteID, line int, mebibytes int64) uint64 {
		return m.get(tag, m.stack(line), mebibytes*mib)
	}
	get(weights, 1, 2)
	get(m.tag("optimizer", "h", "momentum"), 3, 2)
	for range before {
		m.drop(get(weights, 2, 1))
	}
	// forward is a layer's forward pass up to its last operation: what it keeps.
	forward := func() (layer []uint64) {
		if !d.plain {
			layer = append(layer, get(kept, 10, 1))
		}
		if d.passing > 0 {
			m.drop(get(kept, 15, d.passing))
		}
		return append(layer, get(kept, 20, 4), get(kept, 21, 4))
	}
	for range 3 {
		m.run(func() {
			input, gradient := get(kept, 5, 1), m.stack(50)
			var held [][]uint64
			var results []uint64
			for range d.layers {
				layer, down := forward(), get(kept, 20, 1)
				end := 30
				if d.twice {
					end = 21
				}
				results = append(results, get(kept, end, 1))
				m.drop(down)
				if d.checkpoints {
					m.drop(layer...)
					layer = nil
				}
				held = append(held, layer)
			}
			result, loss := get(kept, 40, 1), get(kept, 41, 2)
			grad := m.get(made, gradient, 1*mib)
			var left []uint64
			if m.drop(loss); !d.named {
				m.drop(result)
			}
			for k := d.layers - 1; k >= 0; k-- {
				if left = append(left, results[k]); !d.listed {
					m.drop(results[k])
					left = left[:len(left)-1]
				}
				if d.checkpoints {
					held[k] = forward()
				}
				up := get(made, 51, 4)
				m.drop(held[k][len(held[k])-1])
				next := get(made, 52, 1)
				m.drop(up, grad)
				m.drop(held[k][:len(held[k])-1]...)
				if d.late {
					for range 2 {
						sum := get(made, 53, 9)
						left = append(left, get(made, 54, 1))
						m.drop(sum)
					}
				}
				grad = next
			}
			m.drop(left...)
			if m.drop(input, grad); d.step > 0 {
				m.drop(get(made, 60, d.step))
			}
		})
	}
	tr := m.trace()
	return NewIndex(tr, &tr.Devices[0])
}

// TestCheckpointingSavesWhatTheCheckpointedProgramDoes compares with the peak of the same
// program that makes the change.
func TestCheckpointingSavesWhatTheCheckpointedProgramDoes(t *testing.T) {
	for name, test := range map[string]struct {
		deep
		found bool
	}{
		"all that layers keep":                                {deep{layers: 8}, true},
		"a layer needs more for a while than it keeps":        {deep{layers: 8, passing: 14}, true},
		"gradients of weights come last in a layer":           {deep{layers: 8, late: true}, true},
		"and a list keeps what each layer gives":              {deep{layers: 8, late: true, listed: true}, true},
		"a layer begins as it ends":                           {deep{layers: 8, plain: true}, true},
		"a layer needs a little more, and backward then more": {deep{layers: 8, passing: 10}, true},
		"the last operation is called twice in a layer":       {deep{layers: 8, twice: true}, true},
		"the peak moves to the step":                          {deep{layers: 8, step: 40}, true},
		"a list keeps results of as many steps":               {deep{layers: 4, named: true}, true},
		"the step needs more than all layers":                 {deep{layers: 8, step: 99}, false},
		"too few layers to tell that they are alike":          {deep{layers: 3}, false},
		"it is on already, so that one layer is larger":       {deep{layers: 8, checkpoints: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			changed := test.deep
			changed.checkpoints = true
			for before := 0; before < 70; before += 3 { // events of many places within a bucket
				x, after := test.trace(t, before), changed.trace(t, before)
				want := int64(0)
				if test.found {
					want = x.RequestedAt(LastStepOf(x).Peak) - after.RequestedAt(LastStepOf(after).Peak)
				}
				if got := savingOf(x, "checkpointing"); got != want {
					t.Fatalf("after %d events: saves %d, want %d", before, got, want)
				}
			}
		})
	}
}

// savingOf returns what a kind of finding would save, 0 if there is none.
func savingOf(x *Index, kind string) (saving int64) {
	for _, f := range x.allFindings() {
		if f.Kind.Name == kind {
			saving = f.Saving
		}
	}
	return saving
}

// TestWhatWaitsInTheHostsMemoryIsNotOnTheDevice compares with the peak of the same program that stores what its layers
// give each other until backward needs it.
func TestWhatWaitsInTheHostsMemoryIsNotOnTheDevice(t *testing.T) {
	of := func(kinds int, stored bool) *Index {
		m := newMaker()
		m.get(m.tag("parameter", "h", "weight"), m.stack(1), 2*mib)
		kept, made := m.tag("activation", "h", "output"), m.tag("backward-temporary", "h", "grad")
		for range 3 {
			m.run(func() {
				const layers = 12
				held := make([]uint64, kinds*layers)
				for k := range held {
					m.drop(m.get(kept, m.stack(9), 20*mib))
					if stored && k > 0 {
						m.drop(held[k-1])
					}
					held[k] = m.get(kept, m.stack(10+k%kinds), 8*mib)
				}
				if stored {
					m.drop(held[len(held)-1])
				}
				grad := m.get(made, m.stack(50), 8*mib)
				for k := len(held) - 1; k >= 0; k-- {
					if stored {
						held[k] = m.get(kept, m.stack(10+k%kinds), 8*mib)
					}
					next := m.get(made, m.stack(52), 8*mib)
					m.drop(held[k], grad)
					grad = next
				}
				m.drop(grad)
			})
		}
		tr := m.trace()
		return NewIndex(tr, &tr.Devices[0])
	}
	plain, stored := of(1, false), of(1, true)
	want := plain.RequestedAt(LastStepOf(plain).Peak) - stored.RequestedAt(LastStepOf(stored).Peak) - 2*mib // for a weight that comes back
	if got := savingOf(plain, "save_on_cpu"); got != want || want < 64*mib {
		t.Errorf("saves %d, want %d", got, want)
	}
	if got := savingOf(of(4, false), "save_on_cpu"); got != 0 {
		t.Errorf("saves %d where checkpointing does, want none", got)
	}
}
