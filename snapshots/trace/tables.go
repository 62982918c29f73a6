package trace

import (
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
)

// StringID numbers a string; 0 is absent, 1 the empty string.
type StringID uint32

// FrameID numbers a frame; 0 is absent.
type FrameID uint32

// StackID numbers a stack; 0 is absent, 1 the stack known to be empty.
type StackID uint32

// NoteID numbers a note; 0 notes nothing.
type NoteID uint32

// StreamID numbers a stream; 0 is the default stream. If there are more streams
// than numbers, 0 stands for the others too.
type StreamID uint16

// PoolID numbers a memory pool; 0 is absent.
type PoolID uint32

// ListID numbers a list of strings; 0 is absent.
type ListID uint32

// FXID numbers what torch.fx knows of a frame; 0 is absent.
type FXID uint32

// Numbers that every table starts with.
const (
	EmptyString   StringID = 1
	EmptyStack    StackID  = 1
	DefaultStream StreamID = 0
)

// Frame is one line of a stack.
type Frame struct {
	File, Name StringID
	Line       int32
}

// FX is what torch.fx recorded about a frame of generated code.
type FX struct {
	Op, NodeName, Target, OriginalTrace, Info StringID
}

// Pool identifies a memory pool as PyTorch does: (0,0) is the default, (0,n) a
// user's MemPool, (n,0) a CUDA graph's.
type Pool [2]int64

// Tables holds everything that is interned. It only grows: a number stays
// valid, and a copy of the struct is an immutable view of what it held then.
type Tables struct {
	Strings []string
	Frames  []Frame
	FX      []FX
	FrameFX map[FrameID]FXID // sparse; nil when no frame has any
	Notes   []Note
	Streams []uint64
	Pools   []Pool
	Lists   [][]StringID
	stacks  []stackSpan
	arena   [][]FrameID
}

type stackSpan struct {
	chunk, start, end uint32
}

// String returns string id, "" when absent.
func (t *Tables) String(id StringID) string { return t.Strings[id] }

// StackCount returns how many stack numbers are in use, 0 and 1 included.
func (t *Tables) StackCount() int { return len(t.stacks) }

// Stack returns the frames of stack id, innermost first. It must not be changed.
func (t *Tables) Stack(id StackID) []FrameID {
	s := t.stacks[id]
	if s.start == s.end {
		return nil
	}
	return t.arena[s.chunk][s.start:s.end]
}

// Stream returns the stream's handle as its writer knew it.
func (t *Tables) Stream(id StreamID) uint64 { return t.Streams[id] }

// longestName is how many bytes of a frame's file and function are shown: as many
// as a path may have. A snapshot has a name once, but a report repeats it with
// every stack. So without the limit, a packed file of a kilobyte could become a
// report of hundreds of megabytes.
const longestName = 4096

// FrameText returns "file:line function", the form used in reports, printable
// and not too long.
func (t *Tables) FrameText(id FrameID) string {
	file := t.FrameFile(id)
	return Printable(file) + LineText(file, t.Frames[id].Line) + " " + Printable(t.FrameName(id))
}

// LineText returns ":" and a line of a file, "" for a library, of which an address is
// known and no line.
func LineText(file string, line int32) string {
	if strings.HasSuffix(file, ".so") || strings.Contains(file, ".so.") {
		return ""
	}
	return ":" + strconv.Itoa(int(line))
}

// FrameFile returns a frame's file as it was written, but not too long: it keeps
// the end of a long path, which tells more than the beginning.
func (t *Tables) FrameFile(id FrameID) string {
	return ShortenPath(t.Strings[t.Frames[id].File], longestName)
}

// FrameName returns a frame's function as it was written, but not too long.
func (t *Tables) FrameName(id FrameID) string {
	return Shorten(t.Strings[t.Frames[id].Name], longestName)
}

// Interner fills a Tables. It is owned by one goroutine.
type Interner struct {
	Tables
	strings map[string]StringID
	frames  map[Frame]FrameID
	notes   map[Note]NoteID
	streams map[uint64]StreamID
	pools   map[Pool]PoolID
	stacks  map[uint64][]StackID
	lists   map[uint64][]ListID
	seed    maphash.Seed
	scratch []byte
	room    room
}

// NewInterner returns an interner whose tables hold only the fixed numbers.
func NewInterner() *Interner {
	in := &Interner{
		strings: make(map[string]StringID),
		frames:  make(map[Frame]FrameID),
		notes:   make(map[Note]NoteID),
		streams: map[uint64]StreamID{0: 0},
		pools:   make(map[Pool]PoolID),
		stacks:  make(map[uint64][]StackID),
		lists:   make(map[uint64][]ListID),
		seed:    maphash.MakeSeed(),
		room:    room{left: math.MaxInt64},
	}
	in.Strings = []string{"", ""}
	in.strings[""] = EmptyString
	in.Frames = make([]Frame, 1)
	in.FX = make([]FX, 1)
	in.Notes = make([]Note, 1)
	in.notes[Note{}] = 0
	in.Streams = []uint64{0}
	in.Pools = make([]Pool, 1)
	in.Lists = make([][]StringID, 1)
	in.Tables.stacks = make([]stackSpan, 2)
	return in
}

// View returns the tables as they are now. The view never changes.
//
// The last chunk of the arena still grows, and its slice header changes. So a
// view has its own headers.
func (in *Interner) View() Tables {
	view := in.Tables
	view.arena = slices.Clone(in.arena)
	return view
}

// String interns s.
func (in *Interner) String(s string) StringID {
	if id, ok := in.strings[s]; ok {
		return id
	}
	return in.addString(strings.Clone(s))
}

// Bytes interns the text b, which is copied only when it is new.
func (in *Interner) Bytes(b []byte) StringID {
	if id, ok := in.strings[string(b)]; ok {
		return id
	}
	return in.addString(string(b))
}

// Known returns the number of the text b if it has one.
func (in *Interner) Known(b []byte) (StringID, bool) {
	id, ok := in.strings[string(b)]
	return id, ok
}

func (in *Interner) addString(s string) StringID {
	if !in.room.take(stringBytes + int64(len(s))) {
		return in.Rest().Text
	}
	return appended(&in.Strings, in.strings, s)
}

// appended adds an entry to a table, and returns its number.
func appended[T comparable, ID ~uint16 | ~uint32](table *[]T, ids map[T]ID, entry T) ID {
	id := ID(len(*table))
	*table = append(*table, entry)
	ids[entry] = id
	return id
}

// Frame interns f.
func (in *Interner) Frame(f Frame) FrameID {
	if id, ok := in.frames[f]; ok {
		return id
	}
	if !in.room.take(frameBytes) {
		return in.Rest().Frame
	}
	return appended(&in.Frames, in.frames, f)
}

// SetFX notes what torch.fx knows of a frame. The first note stays: one line of
// generated code has one node. It must not be called once a view is shared
// between goroutines.
func (in *Interner) SetFX(id FrameID, fx FX) {
	if _, ok := in.FrameFX[id]; ok {
		return
	}
	if !in.room.take(fxBytes) {
		return
	}
	if in.FrameFX == nil {
		in.FrameFX = make(map[FrameID]FXID)
	}
	in.FrameFX[id] = FXID(len(in.FX))
	in.FX = append(in.FX, fx)
}

// Note interns n.
func (in *Interner) Note(n Note) NoteID {
	if id, ok := in.notes[n]; ok {
		return id
	}
	if !in.room.take(noteBytes) {
		n = Note{Category: n.Category, Pool: n.Pool} // sums and segments depend on these
		if id, ok := in.notes[n]; ok || in.room.spare == 0 {
			return id
		}
		in.room.spare--
	}
	return appended(&in.Notes, in.notes, n)
}

// Stream interns a stream handle.
func (in *Interner) Stream(handle uint64) StreamID {
	if id, ok := in.streams[handle]; ok {
		return id
	}
	if len(in.Streams) > math.MaxUint16 {
		in.room.full = true
		return DefaultStream
	}
	if !in.room.take(numberBytes) {
		return DefaultStream
	}
	return appended(&in.Streams, in.streams, handle)
}

// Pool interns a memory pool.
func (in *Interner) Pool(p Pool) PoolID {
	if id, ok := in.pools[p]; ok {
		return id
	}
	if !in.room.take(numberBytes) {
		return 0
	}
	return appended(&in.Pools, in.pools, p)
}

// Stack interns a stack, innermost frame first. The frames are copied.
func (in *Interner) Stack(frames []FrameID) StackID {
	if len(frames) == 0 {
		return EmptyStack
	}
	key := hashIDs(in, frames)
	for _, id := range in.stacks[key] {
		if slices.Equal(in.Tables.Stack(id), frames) {
			return id
		}
	}
	if !in.room.take(stackBytes + frameIDBytes*int64(len(frames))) {
		return in.Rest().Stack
	}
	id := StackID(len(in.Tables.stacks))
	in.Tables.stacks = append(in.Tables.stacks, in.store(frames))
	in.stacks[key] = append(in.stacks[key], id)
	return id
}

// store copies frames to the arena. The arena never moves its chunks, so views
// stay valid.
func (in *Interner) store(frames []FrameID) stackSpan {
	const chunk = 1 << 14
	last := len(in.arena) - 1
	if last < 0 || cap(in.arena[last])-len(in.arena[last]) < len(frames) {
		if last >= 0 { // the rest of the chunk before stays unused
			in.room.taken += int64(cap(in.arena[last])-len(in.arena[last])) * frameIDBytes
		}
		in.arena = append(in.arena, make([]FrameID, 0, max(chunk, len(frames))))
		last++
	}
	start := len(in.arena[last])
	in.arena[last] = append(in.arena[last], frames...)
	return stackSpan{uint32(last), uint32(start), uint32(start + len(frames))}
}

// List interns a list of strings.
func (in *Interner) List(items []StringID) ListID {
	key := hashIDs(in, items)
	for _, id := range in.lists[key] {
		if slices.Equal(in.Lists[id], items) {
			return id
		}
	}
	if !in.room.take(stackBytes + frameIDBytes*int64(len(items))) {
		return 0
	}
	id := ListID(len(in.Lists))
	in.Lists = append(in.Lists, append([]StringID{}, items...))
	in.lists[key] = append(in.lists[key], id)
	return id
}

func hashIDs[T ~uint32](in *Interner, ids []T) uint64 {
	in.scratch = in.scratch[:0]
	for _, id := range ids {
		in.scratch = append(in.scratch, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
	}
	return maphash.Bytes(in.seed, in.scratch)
}
