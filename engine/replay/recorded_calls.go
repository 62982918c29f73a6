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
	if c.releases && r.drop(c) {
		return
	}
	if c.last != nil && c.forced && !r.a.Serves(c.last.Size, r.streamOf(c.last)) {
		if r.a.GivesOversize(c.last.Size, r.streamOf(c.last)) {
			r.complete(c.segments) // before those blocks went back, so nothing waited for it
		}
		r.alloc(c.last)
		return
	}
	r.complete(c.end)
	if c.kept {
		r.a.Poll() // the request does not
		defer r.keepCache()()
	}
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

// drop notes that the program has no more use for the pools whose memory goes back in
// a call. If that of one goes back first, the program has dropped that one just now, and
// drop replays that. It reports whether it did.
func (r *recording) drop(c call) bool {
	first := trace.Pool{}
	for at := c.segments; at < c.end; at = ours(r.events, at+1) {
		e := r.events.At(at)
		id := r.pools.Of(e)
		if id == (trace.Pool{}) || e.Kind != trace.SegmentFree && e.Kind != trace.SegmentUnmap {
			continue
		}
		for r.a.ReleasePool(id) == nil { // one user after the other
		}
		if at == c.segments {
			first = id
		}
	}
	if first == (trace.Pool{}) {
		return false
	}
	r.complete(c.segments)
	r.a.Poll()
	r.a.EmptyPool(first)
	return true
}

// call is a run of events that one call may have made.
type call struct {
	segments int          // the first event about a segment, end if there is none
	end      int          // of the events before the alloc
	last     *trace.Event // the alloc or the failure; nil when the run ends with neither
	releases bool         // segments went back
	forced   bool         // new segments followed: the memory may have run out
	kept     bool         // the request failed with everything still cached
}

// call returns the run that begins with an event.
func (r *recording) call(from int) call {
	c, grows := call{end: from, segments: -1}, false
	for ; c.end < r.events.Len(); c.end = ours(r.events, c.end+1) {
		e := r.events.At(c.end)
		if e.Kind == trace.Alloc || e.Kind == trace.OOM {
			c.last = e
			c.kept = e.Kind == trace.OOM && !c.releases && (c.end == from || r.pools.Of(e) != trace.Pool{})
			c.forced = c.releases && grows || e.Kind == trace.OOM && !c.kept
		}
		if e.Kind != trace.FreeCompleted && !e.Kind.Segment() {
			break
		}
		if c.segments < 0 && e.Kind.Segment() {
			c.segments = c.end
		}
		c.releases = c.releases || e.Kind == trace.SegmentFree || e.Kind == trace.SegmentUnmap
		grows = grows || e.Kind == trace.SegmentAlloc || e.Kind == trace.SegmentMap
	}
	if c.segments < 0 {
		c.segments = c.end
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
	end := divertTo(r.a, r.pools.Of(e))
	b, err := r.a.Alloc(e.Size, r.streamOf(e), alloc.Tag{})
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

func (r *recording) streamOf(e *trace.Event) alloc.Stream {
	return alloc.Stream(r.tables.Streams[e.Stream])
}

// keepCache lets no cache go back until the function that it returns is called, as in the
// capture of a graph.
func (r *recording) keepCache() (end func()) {
	if r.a.BeginPool(capture, func(alloc.Stream) bool { return false }) != nil {
		return func() {}
	}
	return func() { _ = r.a.EndPool(capture) } // begun above
}

// capture is a pool that no recording has.
var capture = trace.Pool{1 << 62, 0}

// spend counts a call that visits all blocks a number of times.
func (r *recording) spend(times int) {
	if err := r.spent.spend(times * len(r.blocks)); err != nil && r.wrong == "" {
		r.wrong = err.Error()
	}
}
