package replay

import (
	"fmt"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/trace"
)

// request replays one call: the frees that complete first, the segments that go
// back, the segments that come, and the alloc or the failure.
//
// When no memory is left, the allocator waits for all pending frees, gives
// segments back by itself, and then tries only new memory. The program may also
// have emptied the cache: it did if the request could have been served before.
func (r *recording) request() {
	c := r.call(r.at)
	if c.last != nil && c.forced && !r.a.Serves(c.last.Size, alloc.Stream(r.tables.Streams[c.last.Stream])) {
		r.alloc(c.last)
		return
	}
	r.complete(c.end)
	if c.releases {
		r.spend(1)
		r.a.EmptyCache()
	}
	if c.last != nil {
		r.alloc(c.last)
		return
	}
	r.a.Poll()
}

// call is a run of events that one call may have made.
type call struct {
	end      int          // of the events before the alloc
	last     *trace.Event // the alloc or the failure; nil when the run ends with neither
	releases bool         // segments went back
	forced   bool         // new segments followed: the memory may have run out
}

// call returns the run that begins with an event.
func (r *recording) call(from int) call {
	c, grows := call{end: from}, false
	for ; c.end < r.events.Len(); c.end = ours(r.events, c.end+1) {
		e := r.events.At(c.end)
		if e.Kind == trace.Alloc || e.Kind == trace.OOM {
			c.last = e
			c.forced = c.releases && grows || e.Kind == trace.OOM
		}
		if e.Kind != trace.FreeCompleted && !e.Kind.Segment() {
			break
		}
		c.releases = c.releases || e.Kind == trace.SegmentFree || e.Kind == trace.SegmentUnmap
		grows = grows || e.Kind == trace.SegmentAlloc || e.Kind == trace.SegmentMap
	}
	return c
}

// complete lets the events happen for which completed frees before an event wait.
func (r *recording) complete(end int) {
	for at := r.at; at < end; at = ours(r.events, at+1) {
		if e := r.events.At(at); e.Kind == trace.FreeCompleted {
			r.waits.completed(e.Addr)
		}
	}
}

func (r *recording) alloc(e *trace.Event) {
	if e.Size <= 0 {
		r.wrong = "the recording has " + describe(e, r.tables.Streams)
		return
	}
	if e.Kind == trace.OOM {
		r.spend(failureCost)
	}
	end := r.pools.divert(r.a, e)
	b, err := r.a.Alloc(e.Size, alloc.Stream(r.tables.Streams[e.Stream]), alloc.Tag{})
	end()
	switch {
	case r.wrong != "":
	case e.Kind == trace.OOM && err == nil:
		r.wrong = "a request succeeds that failed"
	case e.Kind == trace.Alloc && err != nil:
		r.wrong = fmt.Sprintf("the recording has %s, the replay %v", describe(e, r.tables.Streams), err)
	case err == nil:
		r.blocks[b.Addr()] = b
	}
}

// spend counts a call that visits all blocks a number of times.
func (r *recording) spend(times int) {
	if err := r.spent.spend(times * len(r.blocks)); err != nil && r.wrong == "" {
		r.wrong = err.Error()
	}
}
