package analysis

import (
	"sort"

	"github.com/memtop/memtop/snapshots/trace"
)

// record is the base data of an index: the events of a device, the lifetimes of
// the allocations, and the counts of events by kind.
type record struct {
	trace   *trace.Trace
	device  *trace.Device
	events  trace.Events
	tables  *trace.Tables
	life    *trace.Lifetimes
	counted int // events whose kinds and stacks are counted
	kinds   [trace.KindCount]int
	others  map[trace.NoteID]int // events of kind Other, by note
	stacks  seenStacks
	// segmentEvents lists the events that change reserved memory.
	segmentEvents []int32
	oomEvents     []int32
	// programEvents lists the events about steps and settings, and about lost
	// memory.
	programEvents []int32
	version       int
	uncached      bool
}

// Uncached reports whether the device has no caching allocator. Then no memory is
// rounded, cached or fragmented, reserved memory equals requested memory, and
// segments say nothing more.
func (r *record) Uncached() bool { return r.uncached }

// reservedDelta returns by how much event i changes reserved memory.
func (r *record) reservedDelta(i int) int64 {
	if r.uncached {
		return r.delta(i, r.events.At(i))
	}
	return r.events.At(i).ReservedDelta()
}

// Version grows with every Advance. Answers of the same version fit together.
func (r *record) Version() int { return r.version }

// Trace returns the trace that the index was made from.
func (r *record) Trace() *trace.Trace { return r.trace }

// Device returns the device that the index is about.
func (r *record) Device() *trace.Device { return r.device }

// Lifetimes returns when each allocation began and ended. It must not be
// advanced.
func (r *record) Lifetimes() *trace.Lifetimes { return r.life }

// End returns the number of the last event, −1 when there is none.
func (r *record) End() int { return r.events.Len() - 1 }

// History reports whether the trace has a history of memory. A device without
// events has none. A device with the single event that PyTorch leaves when
// recording is set to "state" has none either, because that is only the last
// event.
func (r *record) History() bool {
	return r.events.Len() > 1 && r.kinds[trace.Alloc]+r.kinds[trace.FreeCompleted]+r.kinds[trace.Free]+
		r.kinds[trace.SegmentAlloc]+r.kinds[trace.SegmentFree]+r.kinds[trace.SegmentMap]+r.kinds[trace.SegmentUnmap] > 0
}

// clamp brings an event number into [−1, End].
func (r *record) clamp(event int) int { return max(-1, min(event, r.End())) }

// delta returns by how much event i changes the requested level.
func (r *record) delta(i int, e *trace.Event) int64 {
	leaves, joins := r.life.Change(i, e.Kind)
	if leaves == joins {
		return 0 // nothing happened, or a retag
	}
	delta := int64(0)
	if joins != trace.NoAllocation {
		delta = e.Size
	}
	if leaves != trace.NoAllocation {
		delta -= r.sizeOf(leaves)
	}
	return delta
}

func (r *record) sizeOf(id trace.AllocationID) int64 {
	if k, held := id.Held(); held {
		return r.life.Held[k].Size
	}
	return r.events.At(int(id)).Size
}

// Timed reports whether the events carry times.
func (r *record) Timed() bool {
	n := r.events.Len()
	return n > 0 && r.events.At(0).Absent&trace.NoTime == 0 && r.events.At(n-1).Absent&trace.NoTime == 0 &&
		r.events.At(n-1).Time > r.events.At(0).Time
}

// EventAtTime returns the number of the first event at or after a time in
// microseconds since the epoch.
func (r *record) EventAtTime(time int64) int {
	return sort.Search(r.events.Len(), func(i int) bool { return r.events.At(i).Time >= time })
}

func (r *record) aliveAt(at int) []trace.Allocation {
	ids := make([]trace.AllocationID, 0, 1024)
	r.life.Alive(at, func(id trace.AllocationID) bool {
		ids = append(ids, id)
		return true
	})
	all := make([]trace.Allocation, len(ids))
	for i, id := range ids {
		all[i] = r.life.AllocationAt(id, at)
	}
	return all
}

// countEvents counts the kinds and stacks of the events that are new since the
// last call.
func (r *record) countEvents() {
	for i, e := range r.events.Range(r.counted, r.events.Len()) {
		r.kinds[e.Kind]++
		r.stacks.add(e.Stack)
		switch {
		case e.Kind == trace.Other:
			r.others[e.Note]++
		case e.Kind == trace.OOM:
			r.oomEvents = append(r.oomEvents, int32(i))
		case e.Kind.Segment():
			r.segmentEvents = append(r.segmentEvents, int32(i))
		case e.Kind >= trace.StepBegin:
			r.programEvents = append(r.programEvents, int32(i))
		}
	}
	r.counted = r.events.Len()
}

// actions returns the counts of countEvents by the names of the actions.
func (r *record) actions() map[string]int {
	named := make(map[string]int)
	for kind, n := range r.kinds {
		if n > 0 && trace.Kind(kind) != trace.Other {
			named[trace.Kind(kind).String()] = n
		}
	}
	for note, n := range r.others {
		name := r.tables.String(r.tables.Notes[note].Action)
		if name == "" {
			name = trace.Other.String()
		}
		named[name] += n
	}
	return named
}

// seenStacks is a set of non-empty stacks.
type seenStacks struct {
	seen []bool
	n    int
}

func (s *seenStacks) add(id trace.StackID) {
	if int(id) < len(s.seen) {
		if s.seen[id] {
			return
		}
	} else {
		s.seen = append(s.seen, make([]bool, int(id)+1-len(s.seen)+len(s.seen)/2)...)
	}
	s.seen[id] = true
	if id > trace.EmptyStack {
		s.n++
	}
}

func (s *seenStacks) addBlocks(state *trace.State) {
	for i := range state.Segments {
		for b := range state.Segments[i].Blocks {
			block := &state.Segments[i].Blocks[b]
			s.add(block.LiveStack())
		}
	}
}

func (s *seenStacks) count() int { return s.n }
