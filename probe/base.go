package probe

import (
	"sync"
	"time"

	"github.com/memtop/memtop/snapshots/blackbox"
	"github.com/memtop/memtop/snapshots/trace"
)

// Base states
//
// Asking the source for a state holds up its allocator, so viewers that come
// close together share one: a viewer that gets a base that is a little old reads the
// events since then from the ring. A thousand viewers in a row cost a few
// states, not a thousand.

// baseLifetime is how long a state is good for new viewers.
const baseLifetime = 250 * time.Millisecond

// base is the state of a device at one moment, with tables that know
// everything it refers to. Only its past changes, once, when a viewer asks for it.
type base struct {
	at     int64 // number of the first event after it
	taken  time.Time
	state  trace.State
	sums   blackbox.Sums // of the events before it, where there is a black box
	tables *trace.Tables
	past   past // what led to it, found when a viewer asks
}

type sharedBase struct {
	mu sync.Mutex // held while the source is asked; never taken by the program
	b  *base
}

// base returns a state of the device whose following events are still kept.
func (p *Probe) base(device int) *base {
	s, r := p.bases[device], p.rings[device]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.b == nil || !s.b.good(r) {
		s.b = p.takeBase(device)
	}
	return s.b
}

// good reports whether a viewer can begin with b: it is the state of right now,
// or young and with only a few events since.
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

// sharedTables are the newest tables that the source was asked for.
// Asking takes a lock that the program needs too, if only for a moment, so
// sessions that have read the same events ask once.
type sharedTables struct {
	mu    sync.Mutex
	known *trace.Tables
	ends  []int64 // by device: events before these refer to what is known
}

// covering returns tables that know all that events before ends refer to.
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

// fresh returns tables that know all that has happened.
func (t *sharedTables) fresh(p *Probe) *trace.Tables {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ask(p)
}

// ask first notes how far the events are, then takes the tables: what those
// events refer to was interned before they were recorded.
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
