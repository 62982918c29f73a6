package probe

import (
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// Record keeps an event for viewers. It is a [trace.Recorder]: it never waits.
// For each device only one goroutine may call it at a time; a locked allocator
// ensures that. Events of devices that the source did not name count as dropped.
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

// Step keeps a step for viewers and fills in how long reporting held it up. That
// is added to the time in s, which the program needed to make s. Step keeps the
// layers unless it kept those of another step in the last 50 ms, by the steps'
// times. It never waits. The probe shares the slices of s from now on; the caller
// must not modify them.
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
// makes thousands of steps a second, and a user can look at a few of them:
// reading all their tables would take a viewer half a core. All viewers and
// recordings get the layers of the same steps.
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

// Refuse says that the program could not do what a viewer asked for and went back
// to its earlier settings. Changes of the named settings that no step has shown
// become refused for the reason, one line. It never waits.
func (p *service) Refuse(reason string, keys ...string) {
	p.changes.refused(reason, keys)
}

// Cost returns how long reporting has held up the program so far, in
// nanoseconds, and how many events viewers that watched have missed.
// Calls of Record are sampled; the rest is exact.
func (p *Probe) Cost() (ns, dropped int64) {
	return p.meter.total(p.rings), p.meter.dropped.Load()
}

// meter adds up the cost of the probe.
type meter struct {
	steps  atomic.Int64 // nanoseconds in Step
	states atomic.Int64 // nanoseconds in calls for the source's state: it held its locks at most this long
	atStep atomic.Int64 // the total when the last step ended
	// busy is the processor time of sessions in nanoseconds. They run on other cores
	// than the program if there are any, so it is no part of the program's cost.
	busy         atomic.Int64
	dropped      atomic.Int64 // events
	droppedSteps atomic.Int64
}

// total is how long the program had to wait for the probe.
func (m *meter) total(rings []*ring) int64 {
	total := m.steps.Load() + m.states.Load()
	for _, r := range rings {
		if r != nil {
			total += r.spent.Load()
		}
	}
	return total
}
