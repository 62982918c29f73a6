package probe

import (
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// Record keeps an event for viewers. It is a [trace.Recorder]: it never waits,
// and of one device only one goroutine may call it at a time, which a locked
// allocator sees to. Events of devices that the source did not name are
// counted as dropped.
func (p *Probe) Record(device int, e trace.Event) {
	if uint(device) >= uint(len(p.rings)) || p.rings[device] == nil {
		p.meter.dropped.Add(1)
		return
	}
	if e.Kind == trace.OOM {
		p.rings[device].failed.Add(1)
	}
	p.rings[device].record(&e)
}

// Step keeps what a step did for viewers and fills in what reporting cost in
// it, to which what s says of that already is added: the time it took the
// program to make s. Its layers are kept if those of a step of the last 50 ms, by
// the steps' times, were not. It never waits. The slices of s are shared from now
// on and must not be changed.
func (p *Probe) Step(s trace.Step) {
	began := time.Now()
	p.meter.steps.Add(s.ProbeNS)
	cost := p.meter.total(p.rings)
	s.ProbeNS = cost - p.meter.atStep.Swap(cost)
	if !p.layersDue(&s) {
		s.Layers = nil
	}
	p.steps.add(s)
	p.changes.stepped(&s)
	p.box.wake()
	p.meter.steps.Add(int64(time.Since(began)))
}

// layersDue reports whether the layers of a step are worth keeping. A small model
// makes thousands of steps a second, of which a user can look at a few:
// reading all their tables would take a viewer half a core. Which steps have them
// is the same for all viewers, and for recordings.
func (p *Probe) layersDue(s *trace.Step) bool {
	if s.Device < 0 || s.Device >= len(p.layered) || len(s.Layers) == 0 {
		return true
	}
	last := p.layered[s.Device].Load()
	if since := s.Time - last; since >= 0 && since < protocol.MinInterval.Microseconds() && last != 0 {
		return false
	}
	return p.layered[s.Device].CompareAndSwap(last, s.Time)
}

// Refuse says that the program has gone back to what it did before, because it
// could not do what was asked for: changes of the named settings that no step
// has shown are refused for the reason, one line. It never waits.
func (p *Probe) Refuse(reason string, keys ...string) {
	p.changes.refused(reason, keys)
}

// Cost returns how long reporting has held up the program so far, in
// nanoseconds, and how many events viewers that watched have missed.
// Calls of Record are sampled; the rest is exact.
func (p *Probe) Cost() (ns, dropped int64) {
	return p.meter.total(p.rings), p.meter.dropped.Load()
}

// meter adds up what the probe costs.
type meter struct {
	steps  atomic.Int64 // nanoseconds in Step
	states atomic.Int64 // nanoseconds in which the source was asked for states: at most this long it held locks
	atStep atomic.Int64 // the total when the last step ended
	// busy is what sessions took, in nanoseconds: on other cores than the
	// program's if there are any, so not part of its cost.
	busy         atomic.Int64
	dropped      atomic.Int64 // events
	droppedSteps atomic.Int64
}

// total is what the program had to wait for.
func (m *meter) total(rings []*ring) int64 {
	total := m.steps.Load() + m.states.Load()
	for _, r := range rings {
		if r != nil {
			total += r.spent.Load()
		}
	}
	return total
}
