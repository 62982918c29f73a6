package analysis

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// flush is segments that went back to the driver one after another.
type flush struct {
	event, segments int
	bytes           int64
	stack           trace.StackID
	refused         bool  // the allocator gave them back because the driver refused a segment, which it then got
	reserved        int64 // with that segment: the device holds no more
}

// flushes finds the runs of freed segments. If one has the stack of the segment that
// is obtained right after it, the allocator itself gave back its cache for it.
func (x *Index) flushes() []flush {
	var found []flush
	next := -1
	for _, at := range x.segmentEvents {
		i := int(at)
		e := x.events.At(i)
		last := len(found) - 1
		switch {
		case e.Kind == trace.SegmentFree && i == next && found[last].stack == e.Stack:
			found[last].segments++
			found[last].bytes += e.Size
		case e.Kind == trace.SegmentFree:
			found = append(found, flush{event: i, segments: 1, bytes: e.Size, stack: e.Stack})
		case e.Kind == trace.SegmentAlloc && i == next && found[last].stack == e.Stack && e.Stack > trace.EmptyStack:
			found[last].refused, found[last].reserved = true, x.ReservedAt(i)
			continue
		default:
			continue
		}
		next = i + 1
	}
	return found
}

// flushed says how often the driver refused memory, and how often the program itself
// emptied the cache within its loop.
func (f *finder) flushed() {
	var refused, emptied flush
	times, emptyings, most := 0, 0, int64(0)
	for _, one := range f.index.flushes() {
		if one.refused {
			times++
			most = max(most, one.reserved)
			refused.bytes, refused.event, refused.stack = refused.bytes+one.bytes, one.event, one.stack
		} else if f.index.calls(one.stack, "empty_cache") {
			emptyings++
			emptied.segments += one.segments
			emptied.bytes, emptied.event, emptied.stack = emptied.bytes+one.bytes, one.event, one.stack
		}
	}
	if times > 0 {
		f.add(Finding{
			Kind: FlushFinding, Severity: Warning, Bytes: refused.bytes, Where: Where{refused.event, refused.stack}, Remedy: f.index.remedy(),
			Evidence: fmt.Sprintf("The driver refused memory %s: the allocator gave back %s of its cache each time it did, waiting for the device, "+
				"and then reserved %s at most", quantity.Plural(times, "time"), quantity.Bytes(refused.bytes/int64(times)), quantity.Bytes(most)),
		})
	}
	if emptyings >= fewestEmptyings {
		f.add(Finding{
			Kind: EmptyCacheFinding, Severity: Warning, Bytes: emptied.bytes, Where: Where{emptied.event, emptied.stack},
			Evidence: fmt.Sprintf("empty_cache is called in a loop: %s times it gave back %d segments, %s in all, which the next allocations ask for again",
				quantity.Count(emptyings), emptied.segments, quantity.Bytes(emptied.bytes)),
			Remedy: "without the call the segments are used again at once",
		})
	}
}

// fewestEmptyings is how often a cache is emptied at least in a loop.
const fewestEmptyings = 4

// calls reports whether a function of that name is on a stack.
func (x *Index) calls(stack trace.StackID, name string) bool {
	for _, frame := range x.tables.Stack(stack) {
		if x.tables.FrameName(frame) == name {
			return true
		}
	}
	return false
}
