package wire

import "github.com/memtop/memtop/snapshots/trace"

// Type is the type of a frame.
type Type uint8

// The types of frames. Readers skip unknown types up to 127.
const (
	// StringTable and the six that follow it add entries to the tables that
	// states and events refer to by number.
	StringTable Type = 1 + iota
	ListTable
	PoolTable
	StreamTable
	FrameTable
	StackTable
	NoteTable
	BaseFrame   // the whole memory of a device at one moment
	EventsFrame // what happened next
	firstMessage
)

// The types that came later: two with minor version 1, and StepsFrame with 2.
const (
	SnapshotFrame Type = messagesEnd + iota // a part of PyTorch's own snapshot
	TagsFrame                               // the purpose of live memory
	StepsFrame                              // training steps that ended, many in one
	typeEnd
)

var typeNames = [firstMessage]string{
	"", "strings", "lists", "pools", "streams", "frames", "stacks", "notes", "base", "events",
}

// String returns the type's name.
func (t Type) String() string {
	switch {
	case t < firstMessage:
		return typeNames[t]
	case t < messagesEnd:
		return messages[t].name
	case t == SnapshotFrame:
		return "snapshot"
	case t == TagsFrame:
		return "tags"
	case t == StepsFrame:
		return "steps"
	}
	return "unknown"
}

// table reports whether frames of the type add to the tables.
func (t Type) table() bool { return t >= StringTable && t <= NoteTable }

// Frame is one frame as a [Decoder] read it. Which fields are set depends on
// Type. States, events and notes refer to the decoder's tables. Events and Steps
// are valid until the next call of Next; the caller owns everything else. Steps
// may share their lists.
type Frame struct {
	Type Type

	Device int   // Base, Events, Tags
	First  int64 // Base, Events: number of the next event, or the first, in the program's count
	State  trace.State
	Missed int64  // Base: events before it that this stream does not have, -1 when not known
	Reason string // Base: why it was sent; Bye: why it ends
	Events []trace.Event
	Left   int          // Snapshot: how many parts of it follow
	Parts  [][]byte     // Snapshot: all parts of the pickle, once none follow
	Tags   []trace.Tag  // Tags
	Steps  []trace.Step // Steps

	Message
}
