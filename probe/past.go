package probe

import (
	"bytes"
	"sync"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// The past
//
// A viewer that attaches late wants to know what grew before, and the ring still
// has the last events. The probe undoes them from a base and gets the state
// before them, so that the viewer can begin there and read on. The viewer's
// goroutine does this, once for all viewers that share the base, and only for
// viewers that ask.

const (
	// pastEvents bounds how far back a viewer may begin.
	pastEvents = 1 << 17
	// pastSteps is how many steps back a viewer begins.
	pastSteps = 64
)

// past is the state before some events that led to a base.
type past struct {
	once   sync.Once
	state  trace.State
	first  int64 // number of the first of the events
	events trace.Events
	known  bool
}

// before returns the past of a base. It returns false when the past is unknown:
// the ring no longer has the events, or they do not fit the state by the rules of
// PyTorch's allocator.
func (p *Probe) before(device int, b *base) (*past, bool) {
	b.past.once.Do(func() { b.past.find(p, device, b) })
	return &b.past, b.past.known
}

func (a *past) find(p *Probe, device int, b *base) {
	log, first, ok := p.rings[device].last(b.at)
	if !ok || log.Len() == 0 {
		return
	}
	a.first, a.events = first, log.Events()
	from := a.begin()
	a.first, a.events = first+int64(from), a.events.Slice(from, a.events.Len())
	d := trace.Device{ID: device, Events: a.events, Final: b.state}
	r := trace.NewRewinder(&trace.Trace{Tables: b.tables, Settings: p.source.Settings(), Devices: []trace.Device{d}}, &d)
	r.To(-1)
	a.state = r.State()
	a.known = r.Problems().Count == 0 && a.leads(p, device, b)
}

// leads reports whether a viewer that begins with the past arrives at the base.
// If the program's allocator has other rules than PyTorch's, the viewer may see
// blocks that are not there. So leads replays the events in memory and compares.
func (a *past) leads(p *Probe, device int, b *base) bool {
	var bytes bytes.Buffer
	e := wire.NewEncoder(&bytes)
	e.Hello(p.hello(0))
	a.send(e, device, b)
	if e.Flush() != nil {
		return false
	}
	s := wire.NewStream(&bytes, wire.StreamOptions{Memory: wire.MemoryOf(pastEvents + chunkLen)})
	for {
		if _, err := s.Advance(); err != nil {
			break
		}
	}
	t := s.Trace()
	return len(t.Notices) == 0 && len(t.Live.Gaps) == 0 && len(t.Devices) == 1 && t.Devices[0].Events.Len() == a.events.Len()
}

// send sends the past and the base that it leads to.
func (a *past) send(e *wire.Encoder, device int, b *base) {
	e.Tables(b.tables)
	e.Base(device, a.first, &a.state, 0, "")
	for i := 0; i < a.events.Len(); {
		events := a.events.Span(i)
		e.Events(device, a.first+int64(i), events)
		i += len(events)
	}
	e.Base(device, b.at, &b.state, 0, "")
}

// begin returns the event to begin with: that of a step if there is one.
func (a *past) begin() int {
	from, steps := 0, 0
	for i := a.events.Len() - 1; i >= 0 && steps < pastSteps; i-- {
		if a.events.At(i).Kind == trace.StepBegin {
			from = i
			steps++
		}
	}
	return from
}

// last returns a copy of the events before number at that the ring still has and
// will keep for a while, and the number of the first.
func (r *ring) last(at int64) (*trace.EventLog, int64, bool) {
	log := new(trace.EventLog)
	first := max(0, at-min(pastEvents, r.kept()/2))
	for next := first; next < at; {
		events, ok := r.read(next)
		if !ok || len(events) == 0 {
			return nil, 0, false
		}
		for _, e := range events[:min(int64(len(events)), at-next)] {
			log.Append(e)
			next++
		}
	}
	return log, first, true
}
