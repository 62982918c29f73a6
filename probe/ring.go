package probe

import (
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// The ring
//
// Events lie in chunks. The recording goroutine fills a chunk in order and
// publishes its length with one atomic store. It never rewrites published events,
// so a reader takes slices of a chunk and neither copies nor locks. A full chunk
// stays in its slot until the ring has gone round, and lives as long as a reader
// holds it: the garbage collector replaces reference counting.
//
// Events are numbered from 0 in the order of recording. A reader that asks for a
// number whose chunk has been replaced has missed events, and learns so.

const (
	chunkShift = 9
	chunkLen   = 1 << chunkShift
)

type chunk struct {
	first  int64 // number of the first event
	filled atomic.Int64
	events [chunkLen]trace.Event
}

// ring keeps the last events of one device. One goroutine at a time records;
// any number read.
type ring struct {
	fill   int // events in the newest chunk, the recorder's own count
	newest *chunk
	spent  atomic.Int64 // nanoseconds that recording took, estimated
	failed atomic.Int64 // requests for which there was no memory
	box    *boxRing     // keeps events in the black box too; nil without one
	_      [64]byte     // puts the readers' fields on another cache line than the recorder's
	latest atomic.Pointer[chunk]
	slots  []atomic.Pointer[chunk]
}

// newRing returns a ring that keeps at least the last n events.
func newRing(n int) *ring {
	r := &ring{slots: make([]atomic.Pointer[chunk], max(2, (n+chunkLen-1)/chunkLen+1))}
	r.add(0)
	return r
}

// add begins a chunk.
func (r *ring) add(first int64) {
	c := &chunk{first: first}
	r.slots[int(first>>chunkShift)%len(r.slots)].Store(c)
	r.latest.Store(c)
	r.newest, r.fill = c, 0
}

// sampled is the number of calls of record for each one that is timed.
const sampled = 256

// record adds an event.
func (r *ring) record(e *trace.Event) {
	if r.fill&(sampled-1) == sampled/2 {
		r.recordTimed(e)
		return
	}
	r.write(e)
}

func (r *ring) write(e *trace.Event) {
	if r.fill == chunkLen {
		r.turn()
	}
	c := r.newest
	c.events[r.fill&(chunkLen-1)] = *e
	r.fill++
	c.filled.Store(int64(r.fill))
	if r.box != nil {
		r.box.record(e)
	}
}

// interrupted is longer than any call takes, in nanoseconds: another program ran
// meanwhile. Such a sample counts only for itself.
const interrupted = 5_000

// recordTimed times one call and counts it for all calls that are not timed.
// Beginning a chunk is rare and expensive, so it is always timed.
func (r *ring) recordTimed(e *trace.Event) {
	began := time.Now()
	r.write(e)
	took := int64(time.Since(began))
	if took < interrupted {
		took = max(0, took-clockNS)*sampled + clockNS
	}
	r.spent.Store(r.spent.Load() + took)
}

func (r *ring) turn() {
	began := time.Now()
	r.add(r.newest.first + chunkLen)
	r.spent.Store(r.spent.Load() + int64(time.Since(began)))
}

// clockNS is how long reading the clock twice takes, in nanoseconds. It is
// subtracted, or every event would seem to cost that much more.
var clockNS = timeOfClock()

func timeOfClock() int64 {
	best := int64(time.Second)
	for range 64 {
		began := time.Now()
		best = min(best, int64(time.Since(began)))
	}
	return best
}

// end returns the number of the next event to be recorded.
func (r *ring) end() int64 {
	c := r.latest.Load()
	return c.first + c.filled.Load()
}

// kept is how many events the ring holds for certain.
func (r *ring) kept() int64 { return int64(len(r.slots)-1) * chunkLen }

// read returns the published events from number at on, up to the end of their
// chunk; none when there are none yet. The caller must not modify them. It
// reports false when the ring has lost event at.
func (r *ring) read(at int64) ([]trace.Event, bool) {
	c := r.slots[int(at>>chunkShift)%len(r.slots)].Load()
	switch {
	case c == nil || c.first+chunkLen <= at:
		return nil, true // its chunk has not begun
	case c.first > at:
		return nil, false
	}
	filled := c.filled.Load()
	return c.events[min(at-c.first, filled):filled], true
}
