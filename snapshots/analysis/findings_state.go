package analysis

import (
	"memtop/snapshots/trace"
)

// heldBefore says how much of the peak the trace cannot explain.
func (f *finder) heldBefore() {
	s := &f.summary
	if !f.index.History() {
		f.heldWithoutStack()
		return
	}
	var bytes int64
	for k := range f.index.life.Held {
		h := &f.index.life.Held[k]
		if f.index.device.Base != nil && h.Stack > trace.EmptyStack {
			continue // the writer remembers where it was made
		}
		if int(h.Close) > s.PeakEvent {
			bytes += h.Size
		}
	}
	if share := Percent(bytes, s.PeakRequested); share >= 10 {
		f.add(Info, -1, 0, "%s (%d%%) of the peak was held before recording began; start recording earlier to see where it came from.",
			Bytes(bytes), share)
	}
}

// heldWithoutStack says how much of a file without a history has no stack.
func (f *finder) heldWithoutStack() {
	s := &f.summary
	for _, h := range f.index.HoldersAt(f.index.End()) {
		if share := Percent(h.Bytes, s.FinalRequested); h.Stack == 0 && share >= 10 && share < 100 {
			f.add(Info, NoEvent, 0, "%s (%d%%) has no stack: it was allocated while recording was off.", Bytes(h.Bytes), share)
		}
	}
}

// unrecorded says what was not recorded, and how to record it.
func (f *finder) unrecorded() {
	x := f.index
	if x.trace.Live != nil {
		return // it is being recorded, by a program that is not PyTorch's
	}
	const how = "torch.cuda.memory._record_memory_history(max_entries=1000000)"
	switch {
	case x.events.Len() == 0:
		f.add(Info, NoEvent, 0, "The file has no history, only the memory at the moment it was written. To record one, call %s first.", how)
	case !x.History():
		f.add(Info, NoEvent, 0, "The trace holds %s, which is not a history: recording was set to keep only the state. To record one, call %s.",
			entries(x.events.Len()), how)
	}
	if !x.hasStacks() {
		f.add(Warning, NoEvent, 0, "No stacks were recorded, so memory cannot be told apart by who allocated it. To record them, call %s before allocating.", how)
	}
}

func entries(n int) string {
	if n == 1 {
		return "a single entry"
	}
	return Count(n) + " entries"
}

// hasStacks reports whether anything at all has a stack.
func (x *Index) hasStacks() bool {
	if x.stacks.count() > 0 || x.levels.initial+x.levels.nowRequested == 0 && x.kinds[trace.Alloc] == 0 {
		return true
	}
	for i := range x.device.Final.Segments {
		if x.device.Final.Segments[i].Stack > trace.EmptyStack {
			return true
		}
	}
	return false
}

// inconsistent says when events and state contradict each other.
func (f *finder) inconsistent() {
	x := f.index
	stray := x.strayBytes()
	faults := x.ranges().faults + x.life.Reused()
	if faults == 0 && stray == 0 || x.trace.Info.Truncated {
		return
	}
	f.add(Warning, NoEvent, 0, "The events and the final segments do not fit together (%s live after the last event have no block, %d events contradict the state): "+
		"the file was trimmed or made by hand, so numbers over time are approximate.", Bytes(stray), faults)
}

// strayBytes counts what the events leave alive that the final state does not
// know.
func (x *Index) strayBytes() int64 {
	return max(0, x.levels.initial+x.levels.nowRequested-x.Summary().Requested)
}

func (f *finder) waiting() {
	if m := f.index.finalMap(); m.Pending > 0 {
		f.add(Info, f.index.End(), 0, "%s was freed by the program but is still in use by another stream.", Bytes(m.Pending))
	}
}

func (f *finder) pools() {
	var reserved, free int64
	n := 0
	for _, p := range f.index.finalMap().Pools {
		if f.index.tables.Pools[p.Pool] != (trace.Pool{}) {
			n++
			reserved += p.Reserved
			free += p.Free
		}
	}
	if n > 0 {
		f.add(Info, NoEvent, 0, "%s is reserved by %d private pools (CUDA graphs or MemPool), %s of it unused; other code cannot use it.",
			Bytes(reserved), n, Bytes(free))
	}
}
