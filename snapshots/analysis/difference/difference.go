package difference

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/grouped"
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/trace"
)

// Side is one side of a comparison: an index and the moment right after an event;
// −1 is before the first event.
type Side struct {
	Index *analysis.Index
	At    int
}

// Difference has the live memory at two moments, side by side. It is immutable:
// any number of goroutines may read it.
type Difference struct {
	Sides  [2]Side // before, after
	Merged *Merged
	blocks [2][]block
	traits [2]traits.Set
}

// block is one allocation that is held.
type block struct {
	stack    trace.StackID // of the common tables, empty where it was not recorded, 0 if it was held before
	size     int64
	category trace.Category
	note     trace.NoteID // of the common tables
	open     int          // the event that made it, −1 when held from before
}

// Of compares two moments. Both sides may have the same index. The argument
// merged is of the indexes' tables.
func Of(merged *Merged, before, after Side) *Difference {
	d := &Difference{Sides: [2]Side{before, after}, Merged: merged}
	for side, s := range d.Sides {
		alive := s.Index.AliveAt(s.At)
		d.blocks[side] = make([]block, len(alive))
		for i, a := range alive {
			category, _ := s.Index.Category(a)
			b := block{0, a.Size, category, merged.notes[side][a.Note], a.Open}
			switch recorded := a.Stack > trace.EmptyStack && !a.FreeStack; {
			case recorded:
				b.stack = merged.stacks[side][a.Stack]
			case a.Open >= 0:
				b.stack = trace.EmptyStack
			}
			d.blocks[side][i] = b
		}
		d.traits[side] = d.traitsOf(side)
	}
	return d
}

// Bytes returns the requested bytes of both sides.
func (d *Difference) Bytes() [2]int64 {
	var sums [2]int64
	for side, blocks := range d.blocks {
		for i := range blocks {
			sums[side] += blocks[i].size
		}
	}
	return sums
}

// Row has the bytes and counts of one category, place or phase on both sides.
type Row struct {
	Name  string
	Frame trace.FrameID // of the common tables: of a line, or of one in a module; else 0
	Own   bool          // the program's own code
	Bytes [2]int64
	Count [2]int
}

// Delta returns by how many bytes it grew.
func (r *Row) Delta() int64 { return r.Bytes[1] - r.Bytes[0] }

func (r *Row) add(side int, bytes int64) {
	r.Bytes[side] += bytes
	r.Count[side]++
}

// Categories returns a row of each category, in their usual order.
func (d *Difference) Categories() []Row {
	rows := make([]Row, trace.CategoryCount)
	for i, c := range trace.Categories {
		rows[i].Name = c.String()
	}
	for side, blocks := range d.blocks {
		for i := range blocks {
			rows[blocks[i].category.Place()].add(side, blocks[i].size)
		}
	}
	return rows
}

// Lines returns the memory of each line, function, file or module on both sides,
// the largest change first. All memory counts once, for the place that it is
// from.
func (d *Difference) Lines(by lines.By) []Row {
	before, after := d.Merged.code.Pair(d.holdings(0), d.holdings(1), by, false)
	rows := make([]Row, 0, len(before.Rows))
	for i := range before.Rows {
		a, b := &before.Rows[i], &after.Rows[i]
		if a.SelfCount+b.SelfCount > 0 {
			rows = append(rows, Row{b.Name, b.Frame, b.Own, [2]int64{a.Self, b.Self}, [2]int{a.SelfCount, b.SelfCount}})
		}
	}
	sortByChange(rows)
	return rows
}

// holdings adds a side's blocks up by stack.
func (d *Difference) holdings(side int) []lines.Holding {
	var all grouped.By[trace.StackID, lines.Holding]
	for i := range d.blocks[side] {
		b := &d.blocks[side][i]
		h := all.Of(b.stack)
		h.Stack, h.Bytes, h.Count = b.stack, h.Bytes+b.size, h.Count+1
	}
	return all.List
}
