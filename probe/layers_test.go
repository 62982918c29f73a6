package probe

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// TestLayersComeAFewTimesASecond lets steps end at given milliseconds, before a
// viewer comes and while it watches, and looks at which have their layers.
func TestLayersComeAFewTimesASecond(t *testing.T) {
	type step struct {
		device int
		at     int64 // milliseconds
	}
	tests := map[string]struct {
		steps         []step
		before, while []int // the steps with layers
	}{
		"long steps":   {[]step{{0, 100}, {0, 200}, {0, 250}}, []int{2}, []int{0, 1, 2}},
		"short steps":  {[]step{{0, 100}, {0, 101}, {0, 149}, {0, 150}, {0, 180}}, []int{3}, []int{0, 3}},
		"one device":   {[]step{{0, 100}, {1, 100}, {0, 101}, {1, 120}, {0, 150}}, []int{1, 4}, []int{0, 1, 4}},
		"no times":     {[]step{{0, 0}, {0, 0}, {0, 0}}, []int{2}, []int{0, 1, 2}},
		"a clock back": {[]step{{0, 500}, {0, 90}, {0, 100}}, []int{1}, []int{0, 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			end := func(probe *Probe) {
				for _, s := range test.steps {
					probe.Step(trace.Step{Number: 1, Device: s.device, Time: s.at * 1000, Layers: make([]trace.Layer, 2)})
				}
			}
			early, late := listening(t, onTwo{probetest.New()}, Options{}), listening(t, onTwo{probetest.New()}, Options{})
			end(early)
			equal.Values(t, "before the viewer came", test.before, measured(t, newClient(t, early, "").stream(t, "?interval=60s")))
			watching := newClient(t, late, "").stream(t, "?interval=60s")
			watching.next(t, wire.CountersFrame)
			end(late)
			fatal.If(t, late.Close())
			equal.Values(t, "while it watched", test.while, measured(t, watching))
		})
	}
}

// onTwo is a program with two devices.
type onTwo struct{ *probetest.Program }

// Devices returns both.
func (onTwo) Devices() []int { return []int{0, 1} }

// measured returns which steps of a batch have layers.
func measured(t *testing.T, s *stream) (list []int) {
	t.Helper()
	for at := 0; ; {
		f, err := s.Next()
		fatal.If(t, err)
		switch f.Type {
		case wire.StepFrame:
			if len(f.Step.Layers) > 0 {
				list = append(list, at)
			}
			at++
		case wire.CountersFrame:
			return list
		default: // not about steps
		}
	}
}

func TestTheLastLayersAreToldHoweverOldTheyAre(t *testing.T) {
	probe := listening(t, probetest.New(), Options{})
	for i := range int64(5 * stepsBefore) {
		probe.Step(trace.Step{Number: i + 1, Time: 1000 + i, Layers: make([]trace.Layer, 2)})
	}
	s := newClient(t, probe, "").stream(t, "?interval=60s")
	if first := s.next(t, wire.StepFrame).Step; first.Number != 1 || len(first.Layers) != 2 {
		t.Errorf("the first step is %d with %d layers, want the first of all with 2", first.Number, len(first.Layers))
	}
	if next := s.next(t, wire.StepFrame).Step; next.Number != 4*stepsBefore+1 {
		t.Errorf("then comes step %d, want %d", next.Number, 4*stepsBefore+1)
	}
}
