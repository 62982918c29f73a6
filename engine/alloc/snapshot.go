package alloc

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Snapshot returns the allocator's memory and history as a trace, in the layout
// of PyTorch 2.10: what torch.cuda.memory._snapshot() would return, with tags. It
// shows one moment and never changes. Safe for concurrent use.
func (a *Allocator) Snapshot() *trace.Trace { return Snapshot(a) }

// Snapshot returns one trace of several devices. Their allocators share their
// [Names]. Each device shows a different moment, one after the other.
func Snapshot(allocators ...*Allocator) *trace.Trace {
	t := &trace.Trace{
		Info:        trace.Info{Kind: "live", PickleProtocol: -1, Writer: "memtop's engine", Control: true},
		Annotations: []trace.Annotation{},
	}
	for _, a := range allocators {
		if a.names != allocators[0].names {
			panic("alloc: a snapshot of allocators that do not share their names")
		}
		t.Devices = append(t.Devices, a.snapshot())
		t.Info.TraceLists = max(t.Info.TraceLists, a.device+1)
	}
	slices.SortFunc(t.Devices, func(x, y trace.Device) int { return x.ID - y.ID })
	if len(allocators) > 0 {
		t.Settings = allocators[0].Settings()
		tables := allocators[0].names.Tables()
		t.Tables = &tables
	} else {
		t.Tables = &trace.NewInterner().Tables
	}
	return t
}

// snapshot returns the device's trace, then records an event for the snapshot,
// which the trace does not contain.
func (a *Allocator) snapshot() trace.Device {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := trace.Device{
		ID: a.device, Events: a.history.all(), Overflowed: a.history.lost,
		MaxEvents: int64(a.history.limit), Final: a.state(),
	}
	a.tick()
	a.record(trace.Snapshot, 0, a.stats.ActiveBytes.All.Current, a.streamOf(0), 0, Tag{})
	return d
}

// state returns the segments in order of address. An expandable one is a
// segment for every stretch of mapped memory.
func (a *Allocator) state() trace.State {
	v := &viewer{a: a, small: a.names.text("small"), large: a.names.text("large")}
	for _, s := range a.segments {
		for b := s.first; b != nil; {
			if !b.mapped() {
				b = b.next
				continue
			}
			b = v.segment(b)
		}
	}
	return v.state
}

type viewer struct {
	a            *Allocator
	small, large trace.StringID
	state        trace.State
}

const (
	gaveSegment = trace.GaveAddr | trace.GaveSize | trace.GaveRequested | trace.GaveAllocated | trace.GaveActive |
		trace.GaveStream | trace.GaveType | trace.GavePool | trace.GaveExpandable | trace.GaveDevice
	gaveBlock = trace.GaveAddr | trace.GaveSize | trace.GaveRequested | trace.GaveState
)

// segment adds the stretch of memory that begins with b and returns the block
// after it.
func (v *viewer) segment(b *block) *block {
	s := trace.Segment{
		Addr: b.addr, Given: gaveSegment,
		SegmentFacts: trace.SegmentFacts{
			Stream: b.set.stream.id, Pool: v.a.names.pool(b.set.pool.id()), Type: v.large,
			Device: int32(v.a.device), Expandable: b.expandable, Stack: max(b.segment.stack, trace.EmptyStack),
		},
	}
	if b.set.pool.kind == smallPool {
		s.Type = v.small
	}
	for ; b != nil && b.mapped(); b = b.next {
		s.Size += b.size
		s.Blocks = append(s.Blocks, v.block(b))
		switch {
		case b.allocated():
			s.Allocated += b.size
			fallthrough
		case b.pending():
			s.Active += b.size
			s.Requested += b.requested
		}
	}
	v.state.Segments = append(v.state.Segments, s)
	return b
}

func (v *viewer) block(b *block) trace.Block {
	r := trace.Block{
		Addr: b.addr, Size: b.size, Requested: b.requested, Stack: max(b.stack, trace.EmptyStack),
		Note: b.tag.block, State: trace.Inactive, Given: gaveBlock,
	}
	switch {
	case b.allocated():
		r.State = trace.Allocated
	case b.pending():
		r.State = trace.PendingFree
	}
	return r
}
