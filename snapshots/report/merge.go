package report

import (
	"cmp"
	"slices"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
)

// merger translates the numbers of two traces' tables into common ones, so
// that stacks and notes can be compared by number.
type merger struct {
	in     *trace.Interner
	stacks [2][]trace.StackID
	notes  [2][]trace.NoteID
	tables [2]*trace.Tables
}

func newMerger(a, b *trace.Tables) *merger {
	m := &merger{in: trace.NewInterner(), tables: [2]*trace.Tables{a, b}}
	for side, t := range m.tables {
		m.stacks[side] = m.mergeStacks(t)
		m.notes[side] = make([]trace.NoteID, len(t.Notes))
		for id := range t.Notes {
			m.notes[side][id] = m.in.Note(m.note(t, t.Notes[id]))
		}
	}
	return m
}

func (m *merger) mergeStacks(t *trace.Tables) []trace.StackID {
	frames := make([]trace.FrameID, len(t.Frames))
	for id, f := range t.Frames {
		frames[id] = m.in.Frame(trace.Frame{File: m.text(t, f.File), Name: m.text(t, f.Name), Line: f.Line})
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
func (m *merger) text(t *trace.Tables, id trace.StringID) trace.StringID {
	return m.in.String(t.String(id))
}

func (m *merger) note(t *trace.Tables, n trace.Note) trace.Note {
	for _, field := range n.Texts() {
		*field = m.text(t, *field)
	}
	n.Pool = m.in.Pool(t.Pools[n.Pool])
	lines := make([]trace.StringID, len(t.Lists[n.Forward]))
	for i, line := range t.Lists[n.Forward] {
		lines[i] = m.text(t, line)
	}
	n.Forward = m.in.List(lines)
	return n
}

// same reports whether an event of each side says the same.
func (m *merger) same(a, b *trace.Event) bool {
	return a.Kind == b.Kind && a.Addr == b.Addr && a.Size == b.Size && a.Time == b.Time && a.Absent == b.Absent &&
		m.stacks[0][a.Stack] == m.stacks[1][b.Stack] && m.notes[0][a.Note] == m.notes[1][b.Note] &&
		m.tables[0].Stream(a.Stream) == m.tables[1].Stream(b.Stream)
}

// firstDifference returns the first event that differs, −1 when none does.
func (m *merger) firstDifference(a, b trace.Events) int {
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

// compareStacks lists the stacks that hold more or less, the largest change
// first.
func (m *merger) compareStacks(x *analysis.Index, from int, y *analysis.Index, to int) []StackDiff {
	type pair struct {
		sides [2]analysis.Holder
		owner *analysis.Index
		stack trace.StackID
	}
	pairs := make(map[trace.StackID]*pair)
	for side, h := range [2][]analysis.Holder{x.HoldersAt(from), y.HoldersAt(to)} {
		for _, holder := range h {
			key := trace.StackID(0) // held from before, by unknown stacks
			if holder.Stack != 0 {
				key = m.stacks[side][holder.Stack]
			}
			p := pairs[key]
			if p == nil {
				p = &pair{owner: [2]*analysis.Index{x, y}[side], stack: holder.Stack}
				pairs[key] = p
			}
			p.sides[side] = holder
		}
	}
	var changed []StackDiff
	for _, p := range pairs {
		before, after := &p.sides[0], &p.sides[1]
		change, ok := changeOf(before.Bytes, after.Bytes)
		if !ok && before.Count == after.Count {
			continue
		}
		changed = append(changed, StackDiff{
			change, p.owner.HolderName(analysis.Holder{Stack: p.stack}), p.owner.Frames(p.stack), before.Bytes, after.Bytes, before.Count, after.Count,
		})
	}
	slices.SortFunc(changed, func(a, b StackDiff) int {
		return cmp.Or(cmp.Compare(magnitude(b.Delta()), magnitude(a.Delta())), cmp.Compare(a.Name, b.Name), slices.Compare(a.Frames, b.Frames))
	})
	return changed
}

func magnitude(n int64) int64 { return max(n, -n) }

// compareMaps lists segments and blocks that are not the same on both sides.
// Both lists are in order of address.
func (d *DeviceDiff) compareMaps(before, after *analysis.Map) {
	a, b := before.Segments, after.Segments
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Addr < b[0].Addr:
			d.Segments = append(d.Segments, RangeDiff{Vanished, a[0].Addr, a[0].Size, ""})
			d.compareBlocks(a[0].Blocks, nil)
			a = a[1:]
		case len(a) == 0 || b[0].Addr < a[0].Addr:
			d.Segments = append(d.Segments, RangeDiff{Appeared, b[0].Addr, b[0].Size, ""})
			d.compareBlocks(nil, b[0].Blocks)
			b = b[1:]
		default:
			if change, ok := changeOf(a[0].Size, b[0].Size); ok {
				d.Segments = append(d.Segments, RangeDiff{change, b[0].Addr, b[0].Size - a[0].Size, ""})
			}
			d.compareBlocks(a[0].Blocks, b[0].Blocks)
			a, b = a[1:], b[1:]
		}
	}
}

func (d *DeviceDiff) compareBlocks(a, b []analysis.MapBlock) {
	for len(a)+len(b) > 0 {
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Addr < b[0].Addr:
			d.addBlock(Vanished, &a[0])
			a = a[1:]
		case len(a) == 0 || b[0].Addr < a[0].Addr:
			d.addBlock(Appeared, &b[0])
			b = b[1:]
		default:
			if a[0].Size != b[0].Size || a[0].State != b[0].State || a[0].Requested != b[0].Requested {
				d.addBlock(Vanished, &a[0])
				d.addBlock(Appeared, &b[0])
			}
			a, b = a[1:], b[1:]
		}
	}
}

// addBlock lists a block that holds something; free ones are only what is left.
func (d *DeviceDiff) addBlock(change DiffKind, b *analysis.MapBlock) {
	if b.State.Live() {
		d.Blocks = append(d.Blocks, RangeDiff{change, b.Addr, b.Size, b.State.String()})
	}
}
