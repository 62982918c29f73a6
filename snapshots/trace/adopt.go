package trace

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// Adoption translates events and states from the numbers of other tables to those
// of an interner. It interns an entry of the other tables when it first meets a
// reference to it. It is owned by the interner's goroutine.
type Adoption struct {
	in      *Interner
	from    *Tables
	strings memo[StringID]
	lists   memo[ListID]
	pools   memo[PoolID]
	streams memo[StreamID]
	frames  memo[FrameID]
	stacks  memo[StackID]
	notes   memo[NoteID]
	// Hashes of the contents of texts and stacks: 0 if not computed yet.
	stringKeys, stackKeys []uint64
	ids                   []FrameID // scratch
	bytes                 []byte    // scratch
}

// Adopt returns the adoption of events and states that refer to t. It leaves out
// what torch.fx knows of frames.
func (in *Interner) Adopt(t *Tables) *Adoption {
	return &Adoption{in: in, from: t, stringKeys: make([]uint64, len(t.Strings)), stackKeys: make([]uint64, t.StackCount())}
}

// memo remembers the numbers that were found. It stores each number plus one, and
// 0 if it is not known yet.
type memo[ID ~uint16 | ~uint32] []ID

// get returns the number for entry i of n, and calls find the first time. Number
// 0 stays 0.
func (m *memo[ID]) get(i ID, n int, find func() ID) ID {
	if i == 0 {
		return 0
	}
	if *m == nil {
		*m = make([]ID, n)
	}
	if (*m)[i] == 0 {
		id := find()
		(*m)[i] = id + 1
		return id
	}
	return (*m)[i] - 1
}

func (a *Adoption) string(id StringID) StringID {
	return a.strings.get(id, len(a.from.Strings), func() StringID { return a.in.String(a.from.Strings[id]) })
}

func (a *Adoption) list(id ListID) ListID {
	return a.lists.get(id, len(a.from.Lists), func() ListID {
		texts := slices.Clone(a.from.Lists[id])
		for i := range texts {
			texts[i] = a.string(texts[i])
		}
		return a.in.List(texts)
	})
}

func (a *Adoption) pool(id PoolID) PoolID {
	return a.pools.get(id, len(a.from.Pools), func() PoolID { return a.in.Pool(a.from.Pools[id]) })
}

func (a *Adoption) stream(id StreamID) StreamID {
	return a.streams.get(id, len(a.from.Streams), func() StreamID { return a.in.Stream(a.from.Streams[id]) })
}

func (a *Adoption) frame(id FrameID) FrameID {
	return a.frames.get(id, len(a.from.Frames), func() FrameID {
		f := a.from.Frames[id]
		return a.in.Frame(Frame{File: a.string(f.File), Name: a.string(f.Name), Line: f.Line})
	})
}

func (a *Adoption) stack(id StackID) StackID {
	return a.stacks.get(id, a.from.StackCount(), func() StackID {
		a.ids = a.ids[:0]
		for _, f := range a.from.Stack(id) {
			a.ids = append(a.ids, a.frame(f))
		}
		return a.in.Stack(a.ids)
	})
}

func (a *Adoption) note(id NoteID) NoteID {
	return a.notes.get(id, len(a.from.Notes), func() NoteID {
		n := a.from.Notes[id]
		for _, text := range n.Texts() {
			*text = a.string(*text)
		}
		n.Pool, n.Forward, n.Internal = a.pool(n.Pool), a.list(n.Forward), a.string(n.Internal)
		return a.in.Note(n)
	})
}

// Event adopts an event.
func (a *Adoption) Event(e *Event) Event {
	own := *e
	own.Stack, own.Note, own.Stream = a.stack(e.Stack), a.note(e.Note), a.stream(e.Stream)
	return own
}

// State adopts a state. The result shares no memory with s.
func (a *Adoption) State(s State) State {
	own := State{Segments: slices.Clone(s.Segments)}
	for i := range own.Segments {
		g := &own.Segments[i]
		g.Stack, g.Stream, g.Pool, g.Type = a.stack(g.Stack), a.stream(g.Stream), a.pool(g.Pool), a.string(g.Type)
		g.Blocks = slices.Clone(g.Blocks)
		for k := range g.Blocks {
			b := &g.Blocks[k]
			b.Stack, b.Note, b.StateText = a.stack(b.Stack), a.note(b.Note), a.string(b.StateText)
			b.History = slices.Clone(b.History)
			for h := range b.History {
				b.History[h].Stack = a.stack(b.History[h].Stack)
			}
		}
	}
	return own
}

// Key returns a hash of the event's contents. It leaves out the note, and the
// time, because PyTorch computes the times anew for every snapshot. The keys of
// equal events are equal as long as the interner lives, even when the interner
// has no more room.
func (a *Adoption) Key(e *Event) uint64 {
	var b [40]byte
	binary.LittleEndian.PutUint64(b[0:], e.Addr)
	binary.LittleEndian.PutUint64(b[8:], uint64(e.Size))
	binary.LittleEndian.PutUint64(b[16:], a.from.Streams[e.Stream])
	binary.LittleEndian.PutUint64(b[24:], a.stackKey(e.Stack))
	b[32], b[33] = byte(e.Kind), byte(e.Absent)
	return maphash.Bytes(a.in.seed, b[:])
}

func (a *Adoption) stackKey(id StackID) uint64 {
	if a.stackKeys[id] != 0 || id <= EmptyStack {
		return a.stackKeys[id]
	}
	a.bytes = a.bytes[:0]
	for _, id := range a.from.Stack(id) {
		f := &a.from.Frames[id]
		a.bytes = binary.LittleEndian.AppendUint64(a.bytes, a.stringKey(f.File))
		a.bytes = binary.LittleEndian.AppendUint64(a.bytes, a.stringKey(f.Name))
		a.bytes = binary.LittleEndian.AppendUint32(a.bytes, uint32(f.Line))
	}
	a.stackKeys[id] = maphash.Bytes(a.in.seed, a.bytes)
	return a.stackKeys[id]
}

// stringKey hashes each text once, however many frames have it.
func (a *Adoption) stringKey(id StringID) uint64 {
	if a.stringKeys[id] == 0 {
		a.stringKeys[id] = maphash.String(a.in.seed, a.from.Strings[id])
	}
	return a.stringKeys[id]
}
