// Package tuitest makes small and large traces for the tests of the screen: a
// training run on an imitated allocator, so that every page has content and every
// invariant of a real trace holds.
package tuitest

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// machine is an allocator of equal blocks in slabs. It records its events once
// recording has begun.
type machine struct {
	in        *trace.Interner
	log       trace.EventLog
	recording bool
	now       int64 // microseconds
	next      uint64
	slabs     []*slab
	free      map[class][]uint64
	live      map[uint64]tenant
	owner     map[uint64]*slab
	note      trace.NoteID // of the next allocation
}

// class is the common properties of a slab's blocks.
type class struct {
	block  int64
	stream trace.StreamID
	pool   trace.PoolID
}

type slab struct {
	class
	addr   uint64
	blocks int
	stack  trace.StackID
}

// tenant is the allocation in a block.
type tenant struct {
	size    int64
	stack   trace.StackID
	note    trace.NoteID
	pending bool
}

// began is when the recorded run began.
const began = 1_752_000_000_000_000

func newMachine() *machine {
	return &machine{
		in: trace.NewInterner(), now: began, next: 0x7f00_0000_0000,
		free: make(map[class][]uint64), live: make(map[uint64]tenant), owner: make(map[uint64]*slab),
	}
}

func (m *machine) write(kind trace.Kind, addr uint64, size int64, stack trace.StackID, stream trace.StreamID) int {
	m.now += 7
	if !m.recording {
		return -1
	}
	note := trace.NoteID(0)
	if kind == trace.Alloc {
		note = m.note
	}
	return m.log.Append(trace.Event{Kind: kind, Addr: addr, Size: size, Stack: stack, Stream: stream, Note: note, Time: m.now})
}

// alloc hands out size bytes of the class that they fit in.
func (m *machine) alloc(size int64, stack trace.StackID, stream trace.StreamID, pool trace.PoolID) uint64 {
	c := class{(size + 511) / 512 * 512, stream, pool}
	if len(m.free[c]) == 0 {
		m.grow(c, stack)
	}
	list := m.free[c]
	addr := list[len(list)-1]
	m.free[c] = list[:len(list)-1]
	m.live[addr] = tenant{size: size, stack: stack, note: m.note}
	m.write(trace.Alloc, addr, size, stack, stream)
	return addr
}

// grow obtains a slab from the driver: 2 MiB for small blocks, else room for
// four.
func (m *machine) grow(c class, stack trace.StackID) {
	s := &slab{class: c, addr: m.next, blocks: 4, stack: stack}
	if c.block < 1<<20 {
		s.blocks = int(2 << 20 / c.block)
	}
	size := c.block * int64(s.blocks)
	m.next += uint64(size+1<<21) &^ (1<<21 - 1)
	m.slabs = append(m.slabs, s)
	m.write(trace.SegmentAlloc, s.addr, size, stack, c.stream)
	for i := s.blocks - 1; i >= 0; i-- {
		addr := s.addr + uint64(c.block)*uint64(i)
		m.free[c] = append(m.free[c], addr)
		m.owner[addr] = s
	}
}

// drop frees a block; until completed another stream may still use it.
func (m *machine) drop(addr uint64, stack trace.StackID, completed bool) {
	t, s := m.live[addr], m.owner[addr]
	m.write(trace.FreeRequested, addr, t.size, stack, s.stream)
	if !completed {
		t.pending = true
		m.live[addr] = t
		return
	}
	m.write(trace.FreeCompleted, addr, t.size, stack, s.stream)
	delete(m.live, addr)
	m.free[s.class] = append(m.free[s.class], addr)
}

// state returns the segments as they are now.
func (m *machine) state() trace.State {
	var st trace.State
	for _, s := range m.slabs {
		st.Segments = append(st.Segments, m.segment(s))
	}
	slices.SortFunc(st.Segments, func(a, b trace.Segment) int { return cmp.Compare(a.Addr, b.Addr) })
	return st
}

func (m *machine) segment(s *slab) trace.Segment {
	kind := "large"
	if s.block < 1<<20 {
		kind = "small"
	}
	segment := trace.Segment{
		Addr: s.addr, Size: s.block * int64(s.blocks), Given: trace.GaveAddr | trace.GaveSize | trace.GaveType | trace.GavePool | trace.GaveStream | trace.GaveDevice | trace.GaveAllocated |
			trace.GaveActive | trace.GaveRequested,
		SegmentFacts: trace.SegmentFacts{Stack: s.stack, Stream: s.stream, Pool: s.pool, Type: m.in.String(kind)},
	}
	for i := range s.blocks {
		m.addBlock(&segment, s, s.addr+uint64(s.block)*uint64(i))
	}
	return segment
}

// addBlock adds one block, or lengthens the free one before it.
func (m *machine) addBlock(segment *trace.Segment, s *slab, addr uint64) {
	t, live := m.live[addr]
	if n := len(segment.Blocks); !live && n > 0 && segment.Blocks[n-1].State == trace.Inactive {
		segment.Blocks[n-1].Size += s.block
		return
	}
	b := trace.Block{Addr: addr, Size: s.block, Given: trace.GaveAddr | trace.GaveSize | trace.GaveRequested | trace.GaveState}
	if live {
		b.State, b.Requested, b.Stack, b.Note = trace.Allocated, t.size, t.stack, t.note
		segment.Active += s.block
		segment.Requested += t.size
		if t.pending {
			b.State = trace.PendingFree
		} else {
			segment.Allocated += s.block
		}
	}
	segment.Blocks = append(segment.Blocks, b)
}
