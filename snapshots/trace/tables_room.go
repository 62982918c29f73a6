package trace

import "math"

// # How much is interned
//
// Names may come without end: a program that makes itself new code has stacks
// that never come again, and shapes may differ in every step. Whoever interns for
// long gives the tables a bound. Beyond it what is known stays known, and what is
// new gets the number of one entry that says that it is not kept; of a note the
// category and the pool stay, which sums and segments depend on.

// What an entry takes in memory at most, beside its text and its frames: in a table
// that was just moved to a longer array, and in a map that was just split.
const (
	stringBytes  = 128
	frameBytes   = 80
	fxBytes      = 96
	noteBytes    = 224
	numberBytes  = 96 // a stream or a pool
	stackBytes   = 160
	frameIDBytes = 4
)

// spareNotes is how many notes of a category and a pool there may be beyond the
// bound.
const spareNotes = 1 << 10

// NotKept is the text that stands for the names that are not kept.
const NotKept = "(not kept: too many different names)"

// room is how much more may be interned, and what stands for the rest.
type room struct {
	left  int64 // bytes
	taken int64 // bytes
	full  bool  // something had no room
	spare int   // notes beyond the bound
	rest  Rest  // zero before it is needed
}

// take takes room, and reports whether there is any.
func (r *room) take(bytes int64) bool {
	if r.left < bytes {
		r.full = true
		return false
	}
	r.left -= bytes
	r.taken += bytes
	return true
}

// Memory returns about how many bytes the tables take, the maps that entries are
// found by, and what owners keep beside them.
func (in *Interner) Memory() int64 { return in.room.taken }

// Bound lets the tables grow by about so many bytes from now on, counted with
// what is found out about the entries.
func (in *Interner) Bound(bytes int64) {
	in.room.left, in.room.spare = bytes, spareNotes
}

// Extend lets the tables grow by so many bytes more.
func (in *Interner) Extend(bytes int64) { in.room.left += bytes }

// Take counts what an owner keeps beside the tables for their entries, and
// reports whether there is still room for it.
func (in *Interner) Take(bytes int64) bool { return in.room.take(bytes) }

// Rest is what stands for the names, frames and stacks that there is no room for.
type Rest struct {
	Text  StringID
	Frame FrameID
	Stack StackID
}

// Rest returns what stands for what there is no room for.
func (in *Interner) Rest() Rest {
	r := &in.room
	if r.rest.Text == 0 {
		left := r.left
		r.left = math.MaxInt64
		r.rest.Text = in.String(NotKept)
		r.rest.Frame = in.Frame(Frame{Name: r.rest.Text})
		r.rest.Stack = in.Stack([]FrameID{r.rest.Frame})
		r.left = left
	}
	return r.rest
}

// Refused reports whether there was no room for something since it was asked last.
func (in *Interner) Refused() bool {
	full := in.room.full
	in.room.full = false
	return full
}

// Reader returns an interner without any room. It knows the notes, streams and
// pools of the tables by their numbers, some of the texts, and nothing else.
func (t *Tables) Reader(texts []StringID) *Interner {
	in := NewInterner()
	in.Bound(0)
	in.room.spare = 0
	for _, id := range texts {
		in.strings[t.Strings[id]] = id
	}
	for i, n := range t.Notes {
		in.notes[n] = NoteID(i)
	}
	for i, handle := range t.Streams {
		in.streams[handle] = StreamID(i)
	}
	for i, p := range t.Pools[1:] {
		in.pools[p] = PoolID(i + 1)
	}
	return in
}

// Full reports whether there was no room for something.
func (in *Interner) Full() bool { return in.room.full }
