package analysis

import "github.com/memtop/memtop/snapshots/trace"

// Summary describes a device in numbers. Bytes of segments and blocks are those
// of the final state. The JSON names and their order are those of a report.
type Summary struct {
	Segments         int            `json:"segments"` // 0 where there is no caching allocator
	Blocks           int            `json:"blocks"`
	Reserved         int64          `json:"reserved_bytes"`  // all segments
	Allocated        int64          `json:"allocated_bytes"` // blocks in use
	Active           int64          `json:"active_bytes"`    // blocks in use or pending free
	Requested        int64          `json:"requested_bytes"` // what the program asked for of the active ones
	Free             int64          `json:"free_bytes"`      // inactive blocks
	LargestFreeBlock int64          `json:"largest_free_block_bytes"`
	Events           int            `json:"events"`
	Actions          map[string]int `json:"actions"`                 // events by action as written
	InitialRequested int64          `json:"initial_requested_bytes"` // before the first event
	FinalRequested   int64          `json:"final_requested_bytes"`   // after the last
	PeakRequested    int64          `json:"peak_requested_bytes"`
	PeakEvent        int            `json:"peak_event"` // first event that reaches the peak, −1 when it is the start
	InitialReserved  int64          `json:"initial_reserved_bytes"`
	FinalReserved    int64          `json:"-"`
	PeakReserved     int64          `json:"peak_reserved_bytes"`

	DistinctStacks int `json:"-"`
	Held           int `json:"-"` // allocations from before recording, of InitialRequested bytes
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
		Held:           len(x.life.Held),
	}
	s.addState(&x.device.Final)
	if x.uncached {
		s.Segments = 0
	}
	return s
}

func (s *Summary) addState(state *trace.State) {
	s.Segments = len(state.Segments)
	for i := range state.Segments {
		segment := &state.Segments[i]
		s.Reserved += segment.Size
		s.Blocks += len(segment.Blocks)
		t := segment.Sums()
		s.Allocated, s.Active, s.Requested = s.Allocated+t.Allocated, s.Active+t.Active, s.Requested+t.Requested
		s.Free, s.LargestFreeBlock = s.Free+t.Free, max(s.LargestFreeBlock, t.LargestFree)
	}
}
