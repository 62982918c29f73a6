package difference

import (
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/trace"
)

// Merged translates the numbers of two traces' tables into common ones, so that
// stacks and notes can be compared by number. It is immutable.
type Merged struct {
	in     *trace.Interner
	code   *lines.Code
	stacks [2][]trace.StackID
	notes  [2][]trace.NoteID
	tables [2]*trace.Tables
	common *trace.Tables
	lines  []trace.FrameID // that memory is from, by common stack
	traits []traits.Set    // by common stack
}

// Merge translates two tables, which may be the same.
func Merge(a, b *trace.Tables) *Merged {
	m := &Merged{in: trace.NewInterner(), tables: [2]*trace.Tables{a, b}, code: new(lines.Code)}
	renamed := aligned(files(a), files(b))
	for side, t := range m.tables {
		m.stacks[side] = m.mergeStacks(t, renamed[side])
		m.notes[side] = make([]trace.NoteID, len(t.Notes))
		for id := range t.Notes {
			m.notes[side][id] = m.in.Note(m.note(t, t.Notes[id]))
		}
	}
	common := m.in.View()
	m.common = &common
	m.code.Read(m.common)
	m.judge()
	return m
}

// Tables returns the common tables.
func (m *Merged) Tables() *trace.Tables { return m.common }

// Stack returns the common number of a stack of side 0 or 1.
func (m *Merged) Stack(side int, id trace.StackID) trace.StackID { return m.stacks[side][id] }

func (m *Merged) mergeStacks(t *trace.Tables, renamed map[string]string) []trace.StackID {
	frames := make([]trace.FrameID, len(t.Frames))
	for id, f := range t.Frames {
		file := t.String(f.File)
		if name, ok := renamed[file]; ok {
			file = name
		}
		frames[id] = m.in.Frame(trace.Frame{File: m.in.String(file), Name: m.text(t, f.Name), Line: f.Line})
	}
	stacks := make([]trace.StackID, t.StackCount())
	var path []trace.FrameID
	for id := range stacks {
		path = path[:0]
		for _, frame := range t.Stack(trace.StackID(id)) {
			path = append(path, frames[frame])
		}
		stacks[id] = m.in.Stack(path)
	}
	return stacks
}

// text translates a string. An absent one and an empty one are the same.
func (m *Merged) text(t *trace.Tables, id trace.StringID) trace.StringID {
	return m.in.String(t.String(id))
}

func (m *Merged) note(t *trace.Tables, n trace.Note) trace.Note {
	for _, field := range n.Texts() {
		*field = m.text(t, *field)
	}
	n.Pool, n.Internal = m.in.Pool(t.Pools[n.Pool]), m.text(t, n.Internal)
	lines := make([]trace.StringID, len(t.Lists[n.Forward]))
	for i, line := range t.Lists[n.Forward] {
		lines[i] = m.text(t, line)
	}
	n.Forward = m.in.List(lines)
	return n
}

// same reports whether two events, one of each side, are equal.
func (m *Merged) same(a, b *trace.Event) bool {
	return a.Kind == b.Kind && a.Addr == b.Addr && a.Size == b.Size && a.Time == b.Time && a.Absent == b.Absent &&
		m.stacks[0][a.Stack] == m.stacks[1][b.Stack] && m.notes[0][a.Note] == m.notes[1][b.Note] &&
		m.tables[0].Stream(a.Stream) == m.tables[1].Stream(b.Stream)
}

// FirstDifference returns the first event that differs, −1 if none does.
func (m *Merged) FirstDifference(a, b trace.Events) int {
	n := min(a.Len(), b.Len())
	for i := range n {
		if !m.same(a.At(i), b.At(i)) {
			return i
		}
	}
	if a.Len() != b.Len() {
		return n
	}
	return -1
}
