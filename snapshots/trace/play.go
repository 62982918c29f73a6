package trace

import "math"

// # Playing forward
//
// The events of an allocator have the address that it handed out and the
// requested size. They do not say how large the block is, or what became of the
// rest of the free block. The allocator's rules say it. A request, rounded as
// [Geometry] says, takes the front of a free block. The allocator cuts the rest
// off if it is worth keeping: 512 bytes and more in a small pool or an expandable
// segment, more than 1 MiB in a large pool. It never cuts a block of
// max_split_size and more. A block that becomes free joins its free neighbours. A
// free block remembers the last size requested of it.
//
// Segments of 2 MiB belong to the small pool, all others to the large pool.
// Expandable segments grow by 2 MiB in the small pool and by at least 10 MiB in
// the large pool. The event's note names the memory pool unless it is the default
// one.

// rules holds what the player must know, beside the memory that it changes.
type rules struct {
	geometry Geometry
	names    typeNames
	pool     PoolID              // the default pool, 0 when not known
	tables   *Tables             // of the events
	note     func(NoteID) NoteID // a block's note from its event's
	linked   int                 // in use, in all memories that are played
	most     int                 // of them
}

// newRules returns the rules of a trace's allocator.
func newRules(t *Trace) rules {
	return rules{
		geometry: NewGeometry(t.Settings), names: findTypeNames(t), tables: t.Tables, most: math.MaxInt,
		note: func(id NoteID) NoteID { return id },
	}
}

// mostSought bounds the cost of an event that PyTorch's allocator would not make.
// If a segment has more blocks than this, such an event counts as contradicting
// the state.
const mostSought = 1 << 14

// Reasons why an event contradicts the memory.
const (
	noBlock    = "no block begins there"
	notFree    = "the block there is not free"
	notLive    = "the block there is not allocated"
	notPending = "the block there is not being freed"
	tooSmall   = "the block there is smaller"
	tooMany    = "there are too many blocks"
	noRange    = "that is no range of addresses"
	taken      = "some of it is in a segment already"
	noSegment  = "there is no such segment"
	inUse      = "some of it is in use"
)

// play changes the memory as the event says. If the event contradicts the memory,
// play leaves the memory as it is and returns the reason; otherwise it returns
// "".
func (r *rules) play(m *memory, e *Event) string {
	switch e.Kind {
	case Alloc:
		return r.playAlloc(m, e)
	case FreeRequested:
		return m.request(e)
	case FreeCompleted, Free:
		return r.playFree(m, e)
	case Retag:
		return r.playRetag(m, e)
	case SegmentAlloc:
		return r.playSegment(m, e, inactive(e.Addr, e.Size, 0))
	case SegmentFree:
		return r.playSegmentFree(m, e)
	case SegmentMap:
		return r.playMap(m, e)
	case SegmentUnmap:
		return r.playUnmap(m, e)
	default:
		return "" // the rest changes no memory
	}
}

// replay plays the events of a log, from event from on. Events within the gaps
// were made up. replay skips events that contradict the memory. After each other
// event it calls played, which may be nil.
func (r *rules) replay(m *memory, events Events, from int, gaps []Gap, played func(i int, e *Event)) {
	for i, e := range events.Range(from, events.Len()) {
		for len(gaps) > 0 && (gaps[0].Device != int(m.device) || gaps[0].To <= i) {
			gaps = gaps[1:]
		}
		play := r.play
		if len(gaps) > 0 && gaps[0].From <= i {
			play = r.place
		}
		if play(m, e) == "" && played != nil {
			played(i, e)
		}
	}
}

// playAlloc plays an alloc. Some devices have no caching allocator: the setting "allocator" is "none". Such
// a device rounds no sizes and caches no memory. Each allocation is a segment of
// its own, exactly as large as the request: its alloc adds the segment and its
// free removes it. There are no segment events.
func (r *rules) playAlloc(m *memory, e *Event) string {
	if r.geometry.Uncached {
		return r.playSegment(m, e, r.allocated(e, e.Size))
	}
	i, ok := m.find(e.Addr)
	if !ok {
		if i, ok = r.within(m, e.Addr); !ok {
			return noBlock
		}
	}
	b := &m.links[i]
	if b.State != Inactive {
		return notFree
	}
	s := m.segmentAt(e.Addr)
	size, exact := e.BlockSize()
	if !exact {
		size = r.geometry.Round(e.Size)
	}
	if size <= 0 || size > b.Size {
		return tooSmall
	}
	if exact && size < b.Size || !exact && r.geometry.Cuts(r.names.cutFinely(&r.geometry, &s.Segment), size, b.Size-size) {
		if r.linked >= r.most {
			return tooMany
		}
		r.linked++
		m.cut(i, size)
		b = &m.links[i]
	}
	b.Block = r.allocated(e, b.Size)
	s.changed = true
	return ""
}

// allocated returns the block of size bytes that an event handed out.
func (r *rules) allocated(e *Event, size int64) Block {
	return Block{
		Addr: e.Addr, Size: size, Requested: e.Size, Stack: max(e.Stack, EmptyStack), Note: r.note(e.Note),
		State: Allocated, Given: gaveBlock,
	}
}

// within cuts a block so that a free block begins at an address where none did,
// and returns it. PyTorch's allocator takes the front of a free block, and at
// times the rest stays on the allocated block. Another allocator may hand out
// memory from the middle of a free block, or such a rest. Its rules are not
// known, but its events say where the blocks really are.
func (r *rules) within(m *memory, addr uint64) (int32, bool) {
	s := m.segmentAt(addr)
	if s == nil || r.linked >= r.most-1 {
		return none, false
	}
	i, ok := m.holderWithin(s, addr, mostSought)
	if !ok {
		return none, false
	}
	if b := &m.links[i]; b.State.Live() {
		kept := r.geometry.Round(b.LiveRequested())
		if kept >= b.Size || b.Addr+uint64(kept) > addr {
			return none, false
		}
		r.linked++
		i = m.cut(i, kept)
	}
	if b := &m.links[i]; b.Addr < addr {
		r.linked++
		i = m.cut(i, int64(addr-b.Addr))
	}
	return i, true
}

func (m *memory) request(e *Event) string {
	i, ok := m.find(e.Addr)
	if !ok {
		return noBlock
	}
	if m.links[i].State != Allocated {
		return notLive
	}
	m.links[i].State = PendingFree
	m.segmentAt(e.Addr).changed = true
	return ""
}

func (r *rules) playFree(m *memory, e *Event) string {
	i, ok := m.find(e.Addr)
	if !ok {
		return noBlock
	}
	b := &m.links[i]
	if want := e.Kind == Free; want && b.State != Allocated || !want && b.State != PendingFree {
		return notPending
	}
	m.segmentAt(e.Addr).changed = true
	b.Block = inactive(b.Addr, b.Size, b.LiveRequested())
	r.linked -= m.used()
	i = m.join(i)
	if b := &m.links[i]; r.geometry.Uncached && b.prev == none && b.next == none {
		m.removeSegment(b.Addr)
		m.take(i)
	}
	r.linked += m.used()
	return ""
}

func (r *rules) playRetag(m *memory, e *Event) string {
	i, ok := m.find(e.Addr)
	if !ok {
		return noBlock
	}
	if !m.links[i].State.Live() {
		return notLive
	}
	m.links[i].Note = r.note(e.Note)
	m.segmentAt(e.Addr).changed = true
	return ""
}
