package dry

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/engine/device"
)

// passed is a backend that notes whether it was called.
type passed struct {
	Backend
	updates int
}

func (p *passed) Update(device.UpdatePlan) { p.updates++ }

func TestWorkIsPassedOn(t *testing.T) {
	b := new(passed)
	m := &Meter{Backend: b}
	m.Update(device.UpdatePlan{})
	if b.updates != 1 {
		t.Errorf("%d updates reached the backend, want 1", b.updates)
	}
}

func TestWorkIsCountedByKind(t *testing.T) {
	half := device.Array{Len: 100, DType: device.BFloat16}
	full := device.Array{Len: 100}
	tests := map[string]struct {
		work func(m *Meter)
		want Work
	}{
		"a product": {
			func(m *Meter) { m.MatMul(device.MatMulPlan{MatMul: device.MatMul{M: 2, N: 3, K: 5, Batch: 7}}) },
			Work{Products: 210, Operations: 1},
		},
		"a product in half precision": {
			func(m *Meter) {
				m.MatMul(device.MatMulPlan{MatMul: device.MatMul{A: half, B: half, M: 2, N: 3, K: 5, Batch: 1}})
			},
			Work{HalfProducts: 30, Operations: 1},
		},
		"a causal score": {
			func(m *Meter) {
				m.Attention(device.AttentionPlan{Attention: device.Attention{Queries: 3, Keys: 3, Dim: 4, Causal: true}, AllHeads: 2})
			},
			Work{Scores: 2 * 2 * 6 * 4, Operations: 1},
		},
		"a sum": {func(m *Meter) { m.Binary(0, full, full, half) }, Work{Moved: 1000, Operations: 1}},
		"a change of type": {
			func(m *Meter) { m.Cast(half, full) }, Work{Cast: 600, Operations: 1},
		},
		"a copy to the host": {
			func(m *Meter) { m.Send(device.Buffer{}, device.Buffer{Bytes: 64}) }, Work{Crossed: 64},
		},
		"an update of a list": {
			func(m *Meter) {
				m.Update(device.UpdatePlan{Update: device.Update{List: []device.Parameter{{P: full, G: half}, {P: full, M: full}}}})
			},
			Work{Updated: 2*400 + 200 + 2*400 + 2*400, Operations: 1},
		},
		"an update in eight bits": {
			func(m *Meter) {
				m.Update(device.UpdatePlan{Update: device.Update{Rule: device.AdamW8, List: []device.Parameter{{P: full}}}})
			},
			Work{UpdatedBytes: 100, Operations: 1},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := NewMeter()
			test.work(m)
			if diff := cmp.Diff(test.want, m.Take()); diff != "" {
				t.Errorf("work (-want +got):\n%s", diff)
			}
			if m.Work != (Work{}) {
				t.Error("what was taken is still counted")
			}
		})
	}
}
