package pytorchtest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/trace"
)

// clockStart is when every trace begins, in microseconds since the epoch:
// 2026-01-01.
const clockStart = 1_767_225_600_000_000

// allocator is PyTorch's caching allocator, on a device that has only addresses.
// It makes a trace of what it does, with the stack and the note that the program
// has at this moment.
type allocator struct {
	*alloc.Allocator
	memory   *memory
	in       *trace.Interner
	log      trace.EventLog
	now      int64
	stack    trace.StackID
	note     trace.Note
	pool     trace.Pool // of the request
	freeSite bool       // frees have the stack of the free, as with context="all"
	made     map[uint64]origin
	obtained map[uint64]trace.StackID // stacks of segments, by address
}

// origin is what an allocation was made with.
type origin struct {
	stack trace.StackID
	pool  trace.Pool
}

func newAllocator(p *program, device int) *allocator {
	a := &allocator{
		memory: &memory{total: 256 << 20, sizes: map[uint64]int64{}}, in: p.in, now: clockStart, freeSite: p.options.FreeSites,
		made: map[uint64]origin{}, obtained: map[uint64]trace.StackID{},
	}
	o := alloc.Options{Device: max(device, 0), Recorder: a}
	if p.options.Expandable {
		o.Config = "expandable_segments:True"
	}
	var err error
	if a.Allocator, err = alloc.New(a.memory, o); err != nil {
		panic(err)
	}
	return a
}

// Record implements trace.Recorder.
func (a *allocator) Record(_ int, e trace.Event) {
	tables := a.Names().Tables()
	from := origin{a.stack, tables.Pools[tables.Notes[e.Note].Pool]}
	switch e.Kind {
	case trace.Alloc:
		from.pool = a.pool
		a.made[e.Addr] = from
	case trace.FreeRequested, trace.FreeCompleted:
		if from = a.made[e.Addr]; a.freeSite {
			from.stack = a.stack
		}
	case trace.SegmentAlloc, trace.SegmentMap:
		a.obtained[e.Addr] = a.stack
	}
	e.Stream, e.Stack, e.Note = a.in.Stream(tables.Streams[e.Stream]), from.stack, a.plain(from.pool)
	if e.Kind == trace.Alloc {
		n := a.note
		n.Pool = a.in.Pool(from.pool)
		e.Note = a.in.Note(n)
	}
	a.add(e)
}

func (a *allocator) add(e trace.Event) {
	a.now += 3
	e.Time = a.now
	a.log.Append(e)
}

// plain returns the current note without the fields that only allocations have.
func (a *allocator) plain(pool trace.Pool) trace.NoteID {
	return a.in.Note(trace.Note{
		CompileContext: a.note.CompileContext, UserMetadata: a.note.UserMetadata, Internal: a.note.Internal, Pool: a.in.Pool(pool),
	})
}

// final returns the allocator's state as a snapshot gives it.
func (a *allocator) final(device int) trace.State {
	state, tables := a.State(nil), a.Names().Tables()
	for i := range state.Segments {
		s := &state.Segments[i]
		s.Given &^= trace.GaveType | trace.GavePool
		s.Device, s.Stream, s.Pool = int32(device), a.in.Stream(tables.Streams[s.Stream]), a.in.Pool(tables.Pools[s.Pool])
		s.Type, s.Stack = a.in.String(tables.Strings[s.Type]), a.obtained[s.Addr]
		for k := range s.Blocks {
			b := &s.Blocks[k]
			b.Note = 0
			if b.State != trace.Inactive {
				b.Stack = max(a.made[b.Addr].stack, trace.EmptyStack)
			}
		}
	}
	return state
}

// memory is a driver's: ordinary segments lie where the lowest hole is that is
// large enough, so that addresses are used again.
type memory struct {
	total, used  int64
	sizes        map[uint64]int64 // of segments
	ranges       uint64           // reserved
	last, passed alloc.Event
}

func (m *memory) Malloc(size int64) (uint64, error) {
	if m.Map(0, size) != nil {
		return 0, alloc.ErrNoMemory
	}
	at := uint64(0x7f00_0000_0000)
	for _, addr := range slices.SortedFunc(maps.Keys(m.sizes), cmp.Compare) {
		if addr-at >= uint64(size) {
			break
		}
		at = addr + uint64(m.sizes[addr])
	}
	m.sizes[at] = size
	return at, nil
}

func (m *memory) Free(addr uint64) {
	m.used -= m.sizes[addr]
	delete(m.sizes, addr)
}

func (m *memory) MemInfo() (free, total int64) { return m.total - m.used, m.total }

func (m *memory) Reserve(int64) (uint64, error) {
	m.ranges++
	return 0x7f80_0000_0000 + m.ranges<<36, nil
}

func (m *memory) Unreserve(uint64, int64) {}

func (m *memory) Map(_ uint64, size int64) error {
	if m.used+size > m.total {
		return alloc.ErrNoMemory
	}
	m.used += size
	return nil
}

func (m *memory) Unmap(_ uint64, size int64) { m.used -= size }

func (m *memory) RecordEvent(alloc.Stream) alloc.Event {
	m.last++
	return m.last
}

func (m *memory) EventReady(e alloc.Event) bool { return e <= m.passed }

func (m *memory) SyncEvent(e alloc.Event) { m.passed = max(m.passed, e) }
