package trace

// # Playing forward
//
// The events of an allocator say which address was handed out and what was asked
// for, not how large the block is or what became of the rest. The allocator's
// rules do. A request takes the front of a free block, rounded as [Rounding]
// says; the rest is cut off when it is worth keeping: 512 bytes and more in a
// small pool or an expandable segment, more than 1 MiB in a large one, and
// nothing of a block of max_split_size and more. A block that becomes free joins
// its free neighbours. Free blocks remember what was last asked of them.
//
// Segments of 2 MiB belong to the small pool, all others to the large one;
// expandable ones grow by 2 MiB in the small pool and by at least 10 MiB in the
// large one. Their pool is in the event's note unless it is the default one.

// linksLimit bounds the blocks of all devices, which a hostile stream could make
// as many as it likes.
const linksLimit = 1 << 20

// mostSought bounds what an event costs that is not as PyTorch's allocator would
// have it: in a segment of more blocks such events contradict the state.
const mostSought = 1 << 14

// What may be wrong with an event.
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

// play changes the memory as the event says. It returns what contradicts the
// event, "" for nothing; then the memory stays as it is.
func (f *Follower) play(d *followed, e *Event) string {
	m := &d.memory
	switch e.Kind {
	case Alloc:
		return f.playAlloc(m, e)
	case FreeRequested:
		return m.request(e)
	case FreeCompleted, Free:
		return f.playFree(m, e)
	case Retag:
		return f.playRetag(m, e)
	case SegmentAlloc:
		return f.playSegment(d, e)
	case SegmentFree:
		return f.playSegmentFree(m, e)
	case SegmentMap:
		return f.playMap(d, e)
	case SegmentUnmap:
		return f.playUnmap(m, e)
	default:
		return "" // the rest changes no memory
	}
}

func (f *Follower) playAlloc(m *memory, e *Event) string {
	i, ok := m.find(e.Addr)
	if !ok {
		if i, ok = f.within(m, e.Addr); !ok {
			return noBlock
		}
	}
	b := &m.links[i]
	if b.State != Inactive {
		return notFree
	}
	s := m.segmentAt(e.Addr)
	size := f.rounding.Round(e.Size)
	if size > b.Size {
		return tooSmall
	}
	if f.rounding.Cuts(s.Type == f.names.small, s.Expandable, size, b.Size-size) {
		if f.links == linksLimit {
			return tooMany
		}
		f.links++
		m.cut(i, size)
		b = &m.links[i]
	}
	b.Block = Block{
		Addr: e.Addr, Size: b.Size, Requested: e.Size, Stack: max(e.Stack, EmptyStack), Note: f.blockNote(e.Note),
		State: Allocated, Given: gaveBlock,
	}
	s.changed = true
	return ""
}

// within returns a free block that begins at an address where none did. PyTorch's
// allocator takes the front of a free block and at times keeps its rest; one that
// hands out memory from the middle, or the rest of a block that would have kept
// it, has other rules, and its events say where the blocks really are.
func (f *Follower) within(m *memory, addr uint64) (int32, bool) {
	s := m.segmentAt(addr)
	if s == nil || f.links >= linksLimit-1 {
		return none, false
	}
	i, ok := m.holderWithin(s, addr, mostSought)
	if !ok {
		return none, false
	}
	if b := &m.links[i]; b.State.Live() {
		kept := f.rounding.Round(b.LiveRequested())
		if kept >= b.Size || b.Addr+uint64(kept) > addr {
			return none, false
		}
		f.links++
		i = m.cut(i, kept)
	}
	if b := &m.links[i]; b.Addr < addr {
		f.links++
		i = m.cut(i, int64(addr-b.Addr))
	}
	return i, true
}

// blockNote returns what a block's note is when its event has that one: what
// the memory is for, without what is about the event.
func (f *Follower) blockNote(id NoteID) NoteID {
	if id == 0 {
		return 0
	}
	for int(id) >= len(f.notes) {
		f.notes = append(f.notes, make([]NoteID, max(256, len(f.notes)))...)
	}
	if f.notes[id] == 0 {
		n := &f.in.Notes[id]
		// One more than the number: the note of nothing is 0 itself.
		f.notes[id] = 1 + f.in.Note(Note{
			Category: n.Category, Layer: n.Layer, Role: n.Role, Shape: n.Shape, DType: n.DType,
		})
	}
	return f.notes[id] - 1
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

func (f *Follower) playFree(m *memory, e *Event) string {
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
	f.links -= m.used()
	m.join(i)
	f.links += m.used()
	return ""
}

func (f *Follower) playRetag(m *memory, e *Event) string {
	i, ok := m.find(e.Addr)
	if !ok {
		return noBlock
	}
	if !m.links[i].State.Live() {
		return notLive
	}
	m.links[i].Note = f.blockNote(e.Note)
	m.segmentAt(e.Addr).changed = true
	return ""
}
