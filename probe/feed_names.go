package probe

import (
	"github.com/memtop/memtop/snapshots/trace"
)

// names are the numbers of an agent's strings, frames, stacks and notes in the feed's
// tables: an agent numbers them as docs/protocol.md says.
type names struct {
	strings []trace.StringID
	frames  []trace.FrameID
	stacks  []trace.StackID
	notes   []trace.NoteID
}

func (n *names) reset() {
	n.strings = []trace.StringID{0, trace.EmptyString}
	n.frames = []trace.FrameID{0}
	n.stacks = []trace.StackID{0, trace.EmptyStack}
	n.notes = []trace.NoteID{0}
}

// named returns entry n of a table, the first if there is none.
func named[ID any](table []ID, n uint64) ID {
	if n < uint64(len(table)) {
		return table[n]
	}
	return table[0]
}

// namesMost bounds the names of a program: later ones are not known.
const namesMost = 4 << 20

// Strings adds an agent's next strings.
func (r *Relay) Strings(texts []string) {
	extend(r.feed, &r.feed.names.strings, texts, r.feed.in.String)
}

// Frames adds an agent's next frames. Files and functions are numbers of strings.
func (r *Relay) Frames(frames []AgentFrame) {
	n := &r.feed.names
	extend(r.feed, &n.frames, frames, func(f AgentFrame) trace.FrameID {
		return r.feed.in.Frame(trace.Frame{File: named(n.strings, f.File), Name: named(n.strings, f.Function), Line: f.Line})
	})
}

// AgentFrame is a line of a program, by the numbers of an agent.
type AgentFrame struct {
	File, Function uint64
	Line           int32
}

// Stacks adds an agent's next stacks: numbers of frames, innermost first.
func (r *Relay) Stacks(stacks [][]uint64) {
	n := &r.feed.names
	extend(r.feed, &n.stacks, stacks, func(frames []uint64) trace.StackID {
		ids := make([]trace.FrameID, len(frames))
		for i, frame := range frames {
			ids[i] = named(n.frames, frame)
		}
		return r.feed.in.Stack(ids)
	})
}

// Notes adds an agent's next notes: the numbers of their texts, in the order of
// [trace.Note.Texts].
func (r *Relay) Notes(notes [][]uint64) {
	n := &r.feed.names
	extend(r.feed, &n.notes, notes, func(texts []uint64) trace.NoteID {
		var note trace.Note
		for i, text := range note.Texts() {
			if i < len(texts) {
				*text = named(n.strings, texts[i])
			}
		}
		return r.feed.in.Note(note)
	})
}

func extend[T, ID any](f *feed, table *[]ID, entries []T, intern func(T) ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range entries {
		if len(*table) < namesMost {
			*table = append(*table, intern(e))
		}
	}
	f.tables = f.in.View()
}
