package trace

import "math"

// # Limits of the tables
//
// New names may come without end: a program that generates code has stacks that
// never come again, and shapes may differ in every step. So the owner of a
// long-lived interner sets a bound for its tables. Beyond the bound, known
// entries stay, and every new entry gets the number of one entry that says "not
// kept". A new note still keeps its category and its pool, because sums and
// segments depend on them.

// The most memory that an entry takes beside its text and its frames. It takes
// that much right after its table was moved to a longer array and its map was
// split.
const (
	stringBytes  = 128
	frameBytes   = 80
	fxBytes      = 96
	noteBytes    = 224
	numberBytes  = 96 // a stream or a pool
	stackBytes   = 160
	frameIDBytes = 4
)

// spareNotes is how many notes that have only a category and a pool there may be
// beyond the bound.
const spareNotes = 1 << 10

// NotKept is the text that stands for names that the tables do not keep.
const NotKept = "(not kept: too many different names)"

// room is how much more the tables may intern, and which entries stand for the
// rest.
type room struct {
	left  int64 // bytes
	taken int64 // bytes
	full  bool  // something had no room
	spare int   // notes beyond the bound
	rest  Rest  // zero before it is needed
}

// take takes that many bytes of room, and reports whether there was enough.
func (r *room) take(bytes int64) bool {
	if r.left < bytes {
		r.full = true
		return false
	}
	r.left -= bytes
	r.taken += bytes
	return true
}

// Memory returns about how many bytes the tables take, with the maps that find
// the entries and the data that owners keep beside them.
func (in *Interner) Memory() int64 { return in.room.taken }

// Bound lets the tables grow by about that many bytes from now on. The bytes that
// owners count with Take are included.
func (in *Interner) Bound(bytes int64) {
	in.room.left, in.room.spare = bytes, spareNotes
}

// Extend lets the tables grow by that many more bytes.
func (in *Interner) Extend(bytes int64) { in.room.left += bytes }

// Take counts bytes of data that an owner keeps beside the tables for their
// entries, and reports whether there is still room for them.
func (in *Interner) Take(bytes int64) bool { return in.room.take(bytes) }

// Rest has the entries that stand for the names, frames and stacks for which the
// tables have no room.
type Rest struct {
	Text  StringID
	Frame FrameID
	Stack StackID
}

// Rest returns the entries that stand for those for which there is no room.
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

// Full reports whether there was no room for some entry.
func (in *Interner) Full() bool { return in.room.full }
