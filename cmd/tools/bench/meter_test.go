package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/dry"
)

// passed is a backend that notes whether it was called.
type passed struct {
	dry.Backend
	updates int
}

func (p *passed) Update(device.UpdatePlan) { p.updates++ }

func TestOperationsArePassedOn(t *testing.T) {
	b := new(passed)
	m := MeterOf(b)
	m.Update(device.UpdatePlan{})
	if b.updates != 1 {
		t.Errorf("%d updates reached the backend, want 1", b.updates)
	}
	if diff := cmp.Diff(Ops{{Name: Update}: 1}, m.Take()); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}

func TestOperationsAreNoted(t *testing.T) {
	half := device.Array{Addr: 1, Len: 100, DType: device.BFloat16}
	full := device.Array{Addr: 1, Len: 100}
	tests := map[string]struct {
		do   func(m *Meter)
		want Op
	}{
		"a sum": {
			func(m *Meter) { m.Binary(device.Sub, full, full, half) },
			Op{Name: Binary, Bytes: 1000},
		},
		"a change of type": {func(m *Meter) { m.Cast(half, full) }, Op{Name: Cast, Bytes: 600}},
		"an update of a list": {
			func(m *Meter) {
				m.Update(device.UpdatePlan{Update: device.Update{Rule: device.Lion, List: []device.Parameter{{P: full, G: half}, {P: full, M: full}}}})
			},
			Op{
				Name:  Update,
				Bytes: 2*400 + 200 + 2*400 + 2*400,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := MeterOf(dry.Backend{})
			test.do(m)
			test.do(m)
			if diff := cmp.Diff(Ops{test.want: 2}, m.Take()); diff != "" {
				t.Errorf("operations (-want +got):\n%s", diff)
			}
			if len(m.Take()) != 0 {
				t.Error("what was taken is still noted")
			}
		})
	}
}
