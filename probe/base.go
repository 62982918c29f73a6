package probe

import (
	"sync"
	"time"

	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/trace"
)

// Base states
//
// Asking the source for a state holds up its allocator, so viewers that connect
// within a short time share one state. A viewer that gets a slightly old base
// reads the events since then from the ring. A thousand viewers in a row cost a
// few states, not a thousand.

// baseLifetime is how long new viewers may share a state.
const baseLifetime = 250 * time.Millisecond

// base is the state of a device at one moment, with tables that know everything
// it refers to. Only its past changes, once, when a viewer first asks for it.
type base struct {
	at     int64 // number of the first event after it
	taken  time.Time
	state  trace.State
	sums   blackbox.Sums // of the events before it, with a black box
	tables *trace.Tables
	past   past // the events before it, found when a viewer asks
}

type sharedBase struct {
	mu sync.Mutex // held during a call of the source; the program never takes it
	b  *base
}

// base returns a state of the device. The ring still has all events after it.
func (p *Probe) base(device int) *base {
	s, r := p.bases[device], p.rings[device]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.b == nil || !s.b.good(r) {
		s.b = p.takeBase(device)
	}
	return s.b
}

// good reports whether a viewer can begin with b: it is the current state, or it
// is young and only a few events followed it.
func (b *base) good(r *ring) bool {
	since := r.end() - b.at
	return since == 0 || since < r.kept()/4 && time.Since(b.taken) < baseLifetime
}

func (p *Probe) takeBase(device int) *base {
	b := &base{taken: time.Now()}
	b.state = p.source.State(device, func() {
		r := p.rings[device]
		if b.at = r.end(); r.box != nil {
			b.sums = r.box.Sums()
		}
	})
	p.meter.states.Add(int64(time.Since(b.taken)))
	b.tables = p.tables.fresh(p)
	return b
}

// sharedTables are the newest tables that the source returned. Asking for them
// briefly takes a lock that the program needs too, so sessions that have read the
// same events ask once.
type sharedTables struct {
	mu    sync.Mutex
	known *trace.Tables
	ends  []int64 // by device: the tables cover events before these
}

// covering returns tables that cover all events before ends.
func (t *sharedTables) covering(p *Probe, ends []int64) *trace.Tables {
	t.mu.Lock()
	defer t.mu.Unlock()
	for device, end := range ends {
		if t.known == nil || end > t.ends[device] {
			return t.ask(p)
		}
	}
	return t.known
}

// fresh returns tables that cover all events so far.
func (t *sharedTables) fresh(p *Probe) *trace.Tables {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ask(p)
}

// ask first notes the ends of the rings, then takes the tables: the program
// interns a name before it records an event that refers to it.
func (t *sharedTables) ask(p *Probe) *trace.Tables {
	ends := make([]int64, len(p.rings))
	for device, r := range p.rings {
		if r != nil {
			ends[device] = r.end()
		}
	}
	tables := p.source.Tables()
	t.known, t.ends = &tables, ends
	return t.known
}
