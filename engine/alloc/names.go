package alloc

import (
	"sync"

	"github.com/memtop/memtop/snapshots/trace"
)

// Names holds the tables to which the events of one or several allocators refer:
// labels, stacks and streams. Tags made by it are good for all of those
// allocators. It is safe for concurrent use.
type Names struct {
	mu     sync.Mutex
	in     *trace.Interner
	tags   map[Label]Tag
	marks  map[string]trace.NoteID
	stacks map[stackKey]trace.StackID // by the program counters of all frames
	known  map[stackKey]trace.StackID // by where calls return to
	full   bool                       // there is no room for another stack
	hidden []string                   // beginnings of functions' names, see Allocator.Hide
	plain  trace.NoteID               // of an event about a block without a label
}

// NewNames returns empty tables.
func NewNames() *Names {
	n := &Names{
		in:     trace.NewInterner(),
		tags:   make(map[Label]Tag),
		marks:  make(map[string]trace.NoteID),
		stacks: make(map[stackKey]trace.StackID),
		known:  make(map[stackKey]trace.StackID),
	}
	n.plain = n.in.Note(n.eventNote())
	n.in.Bound(namesBytes)
	return n
}

// namesBytes bounds the memory of names, including the maps that find them: a
// program whose stacks and labels never repeat must not grow because of them.
// Names beyond the bound are reported as not kept, see [trace.Interner].
const namesBytes = 32 << 20

// The bytes that the maps need to find an entry.
const (
	labelBytes = 256
	stackBytes = 2 * 8 * maxFrames // by its program counters, and by where its calls return to
)

// Tables returns the current tables. They never change: later names are not in
// them.
func (n *Names) Tables() trace.Tables {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.in.View()
}

// Tag interns a label.
func (n *Names) Tag(l Label) Tag {
	n.mu.Lock()
	defer n.mu.Unlock()
	if t, ok := n.tags[l]; ok {
		return t
	}
	t := Tag{event: n.plain, category: l.Category}
	if l != (Label{}) {
		t.event = n.in.Note(n.labelled(n.eventNote(), l))
		t.block = n.in.Note(n.labelled(trace.Note{}, l))
	}
	if n.in.Take(labelBytes) {
		n.tags[l] = t
	}
	return t
}

// Label returns the label of a tag.
func (n *Names) Label(t Tag) Label {
	n.mu.Lock()
	defer n.mu.Unlock()
	note := &n.in.Notes[t.block]
	return Label{
		Category: t.category,
		Layer:    n.in.Strings[note.Layer], Role: n.in.Strings[note.Role],
		Shape: n.in.Strings[note.Shape], DType: n.in.Strings[note.DType],
	}
}

// eventNote is the note that PyTorch 2.10 gives every event.
func (n *Names) eventNote() trace.Note {
	return trace.Note{CompileContext: n.in.String("N/A"), UserMetadata: trace.EmptyString}
}

func (n *Names) labelled(note trace.Note, l Label) trace.Note {
	note.Category = n.in.String(l.Category.String())
	note.Layer, note.Role = n.optional(l.Layer), n.optional(l.Role)
	note.Shape, note.DType = n.optional(l.Shape), n.optional(l.DType)
	return note
}

// optional interns a text, an empty one as absent.
func (n *Names) optional(text string) trace.StringID {
	if text == "" {
		return 0
	}
	return n.in.String(text)
}

// mark returns the note of an event with a text from the program.
func (n *Names) mark(text string) trace.NoteID {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := n.marks[text]
	if !ok {
		note := n.eventNote()
		note.UserMetadata = n.in.String(text)
		id = n.in.Note(note)
		if n.in.Take(labelBytes) {
			n.marks[text] = id
		}
	}
	return id
}

func (n *Names) stream(h Stream) trace.StreamID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.in.Stream(uint64(h))
}

func (n *Names) pool(p trace.Pool) trace.PoolID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.in.Pool(p)
}

// poolNote returns the note of events about the memory of a private pool.
func (n *Names) poolNote(p trace.Pool) trace.NoteID {
	n.mu.Lock()
	defer n.mu.Unlock()
	note := n.eventNote()
	note.Pool = n.in.Pool(p)
	return n.in.Note(note)
}

func (n *Names) text(s string) trace.StringID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.in.String(s)
}

// where returns the innermost frame of a stack, "" when it has none.
func (n *Names) where(id trace.StackID) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	frames := n.in.Tables.Stack(id)
	if len(frames) == 0 {
		return ""
	}
	return n.in.FrameText(frames[0])
}
