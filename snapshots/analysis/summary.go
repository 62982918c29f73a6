package analysis

import "memtop/snapshots/trace"

// Summary is a device in numbers. Bytes of segments and blocks are those of
// the final state.
type Summary struct {
	InitialRequested, FinalRequested int64 // before the first event, after the last
	PeakRequested                    int64
	PeakEvent                        int // first event that reaches the peak, −1 when it is the start
	InitialReserved, FinalReserved   int64
	PeakReserved                     int64

	Segments, Blocks int
	Reserved         int64 // all segments
	Allocated        int64 // blocks in use
	Active           int64 // blocks in use or pending free
	Requested        int64 // what the program asked for of the active ones
	Free             int64 // inactive blocks
	LargestFreeBlock int64

	Events         int
	Actions        map[string]int // events by action as written
	DistinctStacks int
	Held           int   // allocations from before recording
	HeldBytes      int64 // their requested bytes, the same as InitialRequested
}

// Summary counts the device's final state and its history. Its maps must not
// be changed.
func (x *Index) Summary() Summary {
	return x.kept.summary.get(x, func(Summary) Summary { return x.summarise() })
}

func (x *Index) summarise() Summary {
	l := &x.levels
	s := Summary{
		InitialRequested: l.initial, FinalRequested: l.initial + l.nowRequested,
		PeakRequested: l.initial + l.peakRequested, PeakEvent: l.peakEvent,
		InitialReserved: l.initialReserved, FinalReserved: l.initialReserved + l.nowReserved,
		PeakReserved: l.initialReserved + l.peakReserved,
		Events:       x.events.Len(), Actions: x.actions(),
		DistinctStacks: x.stacks.count(),
		Held:           len(x.life.Held), HeldBytes: l.initial,
	}
	s.addState(&x.device.Final)
	return s
}

func (s *Summary) addState(state *trace.State) {
	s.Segments = len(state.Segments)
	for i := range state.Segments {
		segment := &state.Segments[i]
		s.Reserved += segment.Size
		s.Blocks += len(segment.Blocks)
		for b := range segment.Blocks {
			s.addBlock(&segment.Blocks[b])
		}
	}
}

func (s *Summary) addBlock(b *trace.Block) {
	if b.State == trace.Allocated {
		s.Allocated += b.Size
	}
	if b.State.Live() {
		s.Active += b.Size
		s.Requested += b.LiveRequested()
	}
	if b.State == trace.Inactive {
		s.Free += b.Size
		s.LargestFreeBlock = max(s.LargestFreeBlock, b.Size)
	}
}

// countEvents counts kinds and stacks of the events from number from on.
func (x *Index) countEvents(from int) {
	for i := from; i < x.events.Len(); {
		span := x.events.Span(i)
		for j := range span {
			e := &span[j]
			x.kinds[e.Kind]++
			x.stacks.add(e.Stack)
			switch {
			case e.Kind == trace.Other:
				x.others[e.Note]++
			case e.Kind == trace.OOM:
				x.oomEvents = append(x.oomEvents, int32(i+j))
			case e.Kind.Segment():
				x.segmentEvents = append(x.segmentEvents, int32(i+j))
			case e.Kind >= trace.StepBegin:
				x.programEvents = append(x.programEvents, int32(i+j))
			}
		}
		i += len(span)
	}
}

// actions names what countEvents counted.
func (x *Index) actions() map[string]int {
	named := make(map[string]int)
	for kind, n := range x.kinds {
		if n > 0 && trace.Kind(kind) != trace.Other {
			named[trace.Kind(kind).String()] = n
		}
	}
	for note, n := range x.others {
		name := x.tables.String(x.tables.Notes[note].Action)
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
