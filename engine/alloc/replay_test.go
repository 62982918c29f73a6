package alloc

import (
	"fmt"
	"testing"

	"memtop/snapshots/trace"
)

// replayer drives an allocator through a recorded trace and compares what the
// allocator does with what was recorded, event by event.
//
// The driver answers with the addresses of the recording, and has no memory
// where the recording got none. Everything else the allocator decides.
type replayer struct {
	t      testing.TB
	a      *Allocator
	tables *trace.Tables
	want   []trace.Event
	done   int // events that came out right
	wrong  string
	blocks map[uint64]Allocation
	// completed says, by the event of a token stream, that the recording has
	// come to the completion of the free that waits for it.
	ready map[Event]bool
	waits map[uint64]Event // by address of the freed block
	last  Event
}

// tokens is the stream that stands for all others that used a block.
const tokenStream = Stream(1<<64 - 1)

func (r *replayer) next() *trace.Event {
	if r.done == len(r.want) {
		return nil
	}
	return &r.want[r.done]
}

// Record compares one event.
func (r *replayer) Record(_ int, e trace.Event) {
	want := r.next()
	switch {
	case r.wrong != "":
	case want == nil:
		r.wrong = fmt.Sprintf("after the end: %s", r.describe(&e, r.a.names.in.Streams))
	case e.Kind != want.Kind || e.Size != want.Size || r.a.names.in.Streams[e.Stream] != r.tables.Streams[want.Stream] ||
		e.Kind != trace.OOM && e.Addr != want.Addr:
		r.wrong = fmt.Sprintf("event %d: got %s, want %s", r.done,
			r.describe(&e, r.a.names.in.Streams), r.describe(want, r.tables.Streams))
	default:
		r.done++
	}
}

func (r *replayer) describe(e *trace.Event, streams []uint64) string {
	return fmt.Sprintf("%s %#x %d bytes stream %d", e.Kind, e.Addr, e.Size, streams[e.Stream])
}

func (r *replayer) Malloc(size int64) (uint64, error) {
	if e := r.next(); e != nil && e.Kind == trace.SegmentAlloc && e.Size == size {
		return e.Addr, nil
	}
	return 0, ErrNoMemory
}

func (r *replayer) Free(uint64) {}

func (r *replayer) MemInfo() (free, total int64) { return 0, 80 << 30 }

func (r *replayer) Reserve(int64) (uint64, error) {
	if e := r.next(); e != nil && e.Kind == trace.SegmentMap {
		return e.Addr, nil
	}
	return 0, ErrNoMemory
}

func (r *replayer) Unreserve(uint64, int64) {}

func (r *replayer) Map(addr uint64, _ int64) error {
	if e := r.next(); e == nil || e.Kind != trace.SegmentMap || e.Addr != addr {
		return ErrNoMemory
	}
	return nil
}

func (r *replayer) Unmap(uint64, int64) {}

func (r *replayer) RecordEvent(Stream) Event {
	r.last++
	return r.last
}

func (r *replayer) EventReady(e Event) bool { return r.ready[e] }
func (r *replayer) SyncEvent(Event)         {}

// run replays all events.
func (r *replayer) run() {
	for r.wrong == "" && r.done < len(r.want) {
		before := r.done
		if e := r.next(); e.Kind == trace.FreeRequested {
			r.free(e)
		} else {
			r.request()
		}
		if r.done == before && r.wrong == "" {
			r.wrong = fmt.Sprintf("event %d: nothing happened, want %s", r.done, r.describe(r.next(), r.tables.Streams))
		}
	}
}

// free frees a block, which stays pending when the recording does not complete
// the free at once.
func (r *replayer) free(e *trace.Event) {
	b, ok := r.blocks[e.Addr]
	if !ok {
		r.wrong = fmt.Sprintf("event %d: %#x is freed and was never allocated", r.done, e.Addr)
		return
	}
	delete(r.blocks, e.Addr)
	at := r.done + 1
	if at == len(r.want) || r.want[at].Kind != trace.FreeCompleted || r.want[at].Addr != e.Addr {
		r.a.RecordStream(b, tokenStream)
		r.waits[e.Addr] = r.last + 1
	}
	r.a.Free(b)
}

// request replays one call: the frees that complete first, the segments that go
// back, the segments that come, and the alloc or the failure.
func (r *replayer) request() {
	releases, at := false, r.done
	for at < len(r.want) && r.leadsUp(&r.want[at]) {
		kind := r.want[at].Kind
		releases = releases || kind == trace.SegmentFree || kind == trace.SegmentUnmap
		at++
	}
	if releases {
		r.a.EmptyCache()
	}
	if at == len(r.want) || r.want[at].Kind != trace.Alloc && r.want[at].Kind != trace.OOM {
		r.a.mu.Lock()
		r.a.processEvents()
		r.a.mu.Unlock()
		return
	}
	r.alloc(&r.want[at])
}

// leadsUp reports whether an event is of those that come before an alloc in one
// call. The event that a completed free waited for has now happened.
func (r *replayer) leadsUp(e *trace.Event) bool {
	if e.Kind == trace.FreeCompleted {
		r.ready[r.waits[e.Addr]] = true
		return true
	}
	return e.Kind.Segment()
}

func (r *replayer) alloc(e *trace.Event) {
	b, err := r.a.Alloc(e.Size, Stream(r.tables.Streams[e.Stream]), Tag{})
	switch {
	case e.Kind == trace.OOM && err == nil:
		r.wrong = fmt.Sprintf("event %d: a request succeeds that failed", r.done)
	case e.Kind == trace.Alloc && err != nil:
		r.wrong = fmt.Sprintf("event %d: want %s: %v", r.done, r.describe(e, r.tables.Streams), err)
	case err == nil:
		r.blocks[b.Addr()] = b
	}
}
