package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// maker makes the trace of a training run that never ran: what a program of our
// own would tell, with as many tensors and steps as a test wants.
type maker struct {
	in    *trace.Interner
	log   trace.EventLog
	base  trace.State
	live  map[uint64]trace.Block
	free  map[int64][]uint64 // addresses by size
	end   uint64
	step  int64
	steps []trace.Step
	told  trace.Live
	time  int64
}

const madeAt = 1 << 40

func newMaker() *maker {
	return &maker{in: trace.NewInterner(), live: make(map[uint64]trace.Block), free: make(map[int64][]uint64), end: madeAt}
}

// tag interns what a tensor is for.
func (m *maker) tag(category, layer, role string) trace.NoteID {
	return m.in.Note(trace.Note{
		Category: m.in.String(category), Layer: m.in.String(layer), Role: m.in.String(role), Shape: m.in.String("[]"), DType: m.in.String("float32"),
	})
}

// stack interns a stack of one line.
func (m *maker) stack(line int) trace.StackID {
	frame := trace.Frame{File: m.in.String("model.py"), Name: m.in.String("forward"), Line: int32(line)}
	return m.in.Stack([]trace.FrameID{m.in.Frame(frame)})
}

func (m *maker) add(e trace.Event) {
	m.time += 3
	e.Time = m.time
	m.log.Append(e)
}

// get allocates a tensor and returns its address.
func (m *maker) get(tag trace.NoteID, stack trace.StackID, size int64) uint64 {
	rounded := (size + 511) / 512 * 512
	addr := m.end
	if free := m.free[rounded]; len(free) > 0 {
		addr, m.free[rounded] = free[len(free)-1], free[:len(free)-1]
	} else {
		m.end += uint64(rounded)
	}
	m.live[addr] = trace.Block{Addr: addr, Size: rounded, Requested: size, Stack: stack, Note: tag, State: trace.Allocated, Given: trace.GaveRequested}
	m.add(trace.Event{Kind: trace.Alloc, Addr: addr, Size: size, Stack: stack, Note: tag})
	return addr
}

// drop frees tensors.
func (m *maker) drop(addrs ...uint64) {
	for _, addr := range addrs {
		b := m.live[addr]
		delete(m.live, addr)
		m.free[b.Size] = append(m.free[b.Size], addr)
		m.add(trace.Event{Kind: trace.FreeRequested, Addr: addr, Size: b.Requested, Note: b.Note})
		m.add(trace.Event{Kind: trace.FreeCompleted, Addr: addr, Size: b.Requested, Note: b.Note})
	}
}

// run is one step.
func (m *maker) run(body func()) {
	m.step++
	m.add(trace.Event{Kind: trace.StepBegin, Size: m.step})
	body()
	m.add(trace.Event{Kind: trace.StepEnd, Size: m.step})
	m.steps = append(m.steps, trace.Step{Number: m.step, Time: m.time, Duration: 1_000_000, Tokens: 100})
}

// state returns the memory as it is now: one segment.
func (m *maker) state() trace.State {
	s := trace.Segment{Addr: madeAt, Size: int64(m.end - madeAt)}
	if s.Size == 0 {
		return trace.State{}
	}
	for _, b := range m.live {
		s.Blocks = append(s.Blocks, b)
	}
	slices.SortFunc(s.Blocks, func(a, b trace.Block) int { return cmp.Compare(a.Addr, b.Addr) })
	var blocks []trace.Block
	at := s.Addr
	for _, b := range s.Blocks {
		if b.Addr > at {
			blocks = append(blocks, trace.Block{Addr: at, Size: int64(b.Addr - at)})
		}
		blocks = append(blocks, b)
		at = b.Addr + uint64(b.Size)
	}
	if at < s.End() {
		blocks = append(blocks, trace.Block{Addr: at, Size: int64(s.End() - at)})
	}
	s.Blocks = blocks
	return trace.State{Segments: []trace.Segment{s}}
}

// attach forgets what was told so far: a viewer comes now.
func (m *maker) attach() {
	m.base, m.log = m.state(), trace.EventLog{}
	m.steps = nil
}

// trace returns what was told.
func (m *maker) trace() *trace.Trace {
	events := m.log.Events()
	if m.end > madeAt && len(m.base.Segments) == 0 || len(m.base.Segments) > 0 && m.base.Segments[0].Size < int64(m.end-madeAt) {
		m.base.Segments = []trace.Segment{{Addr: madeAt, Size: int64(m.end - madeAt), Blocks: m.blocksOfBase()}}
	}
	tables := m.in.View()
	live := m.told
	return &trace.Trace{
		Info: trace.Info{Kind: "live", Growing: true}, Tables: &tables, Steps: m.steps, Live: &live,
		Devices: []trace.Device{{Base: &m.base, Events: events, Final: m.state()}},
	}
}

func (m *maker) blocksOfBase() []trace.Block {
	if len(m.base.Segments) == 0 {
		return nil
	}
	return m.base.Segments[0].Blocks
}
