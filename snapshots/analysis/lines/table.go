package lines

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// By is the unit of a table's rows: line, function, file or module.
type By uint8

// What memory is added up by.
const (
	Line By = iota
	Function
	File
	Module
	Ways // how many there are
)

// String returns the word that asks for it.
func (b By) String() string { return [...]string{"line", "function", "file", "module"}[b] }

// Set reads such a word.
func (b *By) Set(text string) error {
	for way := range Ways {
		if way.String() == text {
			*b = way
			return nil
		}
	}
	return fmt.Errorf("%q is not line, function, file or module", text)
}

// Type names the flag's type in help.
func (b *By) Type() string { return "WAY" }

// Holding is the memory of the allocations of one stack. Stack 0 is memory from
// before recording whose origin is not known.
type Holding struct {
	Stack trace.StackID
	Bytes int64
	Count int // allocations
	// The part that was allocated before recording began.
	Held      int64
	HeldCount int
}

// Row has the memory of one line, function, file or module.
type Row struct {
	Name  string
	Frame trace.FrameID // of that line, or of one in that function, file or module; 0 for memory without a stack
	Own   bool          // the program's own
	// Bytes of memory that is from this place, and of memory whose stack passes
	// through it.
	Self, Total           int64
	SelfCount, TotalCount int
}

// Table is memory by line, by function, by file or by module.
type Table struct {
	By    By
	Rows  []Row // the largest first by what is from there itself
	Bytes int64
	Count int
}

// Table adds up holdings. Where libraries are not asked for, the memory of a
// stack is from its [Code.Line], and passes through the program's own lines;
// else it is from the innermost frame that tells anything.
func (c *Code) Table(holdings []Holding, by By, libraries bool) *Table {
	b := c.builder(by, libraries)
	for _, h := range holdings {
		b.add(h)
	}
	b.name()
	slices.SortStableFunc(b.table.Rows, func(a, b Row) int { return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total)) })
	return b.table
}

// Pair makes a table of each of two lists of holdings. Both tables have the same
// rows in the same order, which is arbitrary.
func (c *Code) Pair(before, after []Holding, by By, libraries bool) (first, second *Table) {
	b := c.builder(by, libraries)
	for _, h := range before {
		b.add(h)
	}
	first = b.table
	b.table = &Table{By: by, Rows: slices.Clone(first.Rows)}
	b.clear()
	for _, h := range after {
		b.add(h)
	}
	b.name()
	second = b.table
	for i := range second.Rows {
		if i == len(first.Rows) {
			first.Rows = append(first.Rows, Row{Frame: second.Rows[i].Frame, Own: second.Rows[i].Own})
		}
		first.Rows[i].Name = second.Rows[i].Name
	}
	return first, second
}

func (c *Code) builder(by By, libraries bool) *builder {
	return &builder{code: c, by: by, libraries: libraries, table: &Table{By: by}, slots: make(map[place]int), frames: make(map[trace.FrameID]int)}
}

// clear forgets what rows hold.
func (b *builder) clear() {
	for i := range b.table.Rows {
		r := &b.table.Rows[i]
		r.Self, r.Total, r.SelfCount, r.TotalCount = 0, 0, 0, 0
	}
}

// Passing returns a function that reports whether a row of a table counts a
// stack: the stack's memory is from the row's line or passes through it.
func (c *Code) Passing(row trace.FrameID, by By, libraries bool) func(trace.StackID) bool {
	b := builder{code: c, by: by, libraries: libraries}
	want := b.place(row)
	return func(stack trace.StackID) bool {
		frames := c.tables.Stack(stack)
		return len(frames) > 0 && (b.place(b.from(stack)) == want ||
			slices.ContainsFunc(frames, func(frame trace.FrameID) bool { return b.shows(frame) && b.place(frame) == want }))
	}
}

// place is what makes two frames stand in one row.
type place struct {
	file, name trace.StringID
	line       int32
	text       string
}

type builder struct {
	code      *Code
	by        By
	libraries bool
	table     *Table
	slots     map[place]int
	frames    map[trace.FrameID]int // their rows, as far as they are known
	counted   []int                 // by row, the last holding that was added to it, from 1
	holdings  int
}

func (b *builder) add(h Holding) {
	b.table.Bytes += h.Bytes
	b.table.Count += h.Count
	b.holdings++
	frames := b.code.tables.Stack(h.Stack)
	if len(frames) == 0 {
		text := b.code.NoStack()
		if h.Stack == 0 {
			text = HeldBefore
		}
		b.addSelf(b.slot(place{text: text}, 0), h)
		return
	}
	b.addSelf(b.row(b.from(h.Stack)), h)
	for _, frame := range frames {
		if b.shows(frame) {
			b.addTotal(b.row(frame), h)
		}
	}
}

// from returns the frame that a stack's memory is from.
func (b *builder) from(stack trace.StackID) trace.FrameID {
	if !b.libraries {
		return b.code.Line(stack)
	}
	return cmp.Or(b.code.Operation(stack), b.code.tables.Stack(stack)[0])
}

func (b *builder) shows(frame trace.FrameID) bool {
	return b.code.Own(frame) || b.libraries && !b.code.Hidden(frame)
}

func (b *builder) addSelf(slot int, h Holding) {
	row := &b.table.Rows[slot]
	row.Self += h.Bytes
	row.SelfCount += h.Count
	b.addTotal(slot, h)
}

// addTotal adds a holding to a row once, however often its stack passes there.
func (b *builder) addTotal(slot int, h Holding) {
	if b.counted[slot] == b.holdings {
		return
	}
	b.counted[slot] = b.holdings
	row := &b.table.Rows[slot]
	row.Total += h.Bytes
	row.TotalCount += h.Count
}

// row returns the number of a frame's row.
func (b *builder) row(frame trace.FrameID) int {
	slot, ok := b.frames[frame]
	if !ok {
		slot = b.slot(b.place(frame), frame)
		b.frames[frame] = slot
	}
	return slot
}

func (b *builder) slot(p place, frame trace.FrameID) int {
	slot, ok := b.slots[p]
	if !ok {
		slot = len(b.table.Rows)
		b.slots[p] = slot
		b.table.Rows = append(b.table.Rows, Row{Name: p.text, Frame: frame, Own: b.code.Own(frame)})
		b.counted = append(b.counted, 0)
	}
	return slot
}

func (b *builder) place(frame trace.FrameID) place {
	f := b.code.tables.Frames[frame]
	switch b.by {
	case Line:
		return place{file: f.File, name: f.Name, line: f.Line}
	case Function:
		return place{file: f.File, name: f.Name}
	case File:
		if b.code.file(frame) == "" {
			return place{text: unknownFile}
		}
		return place{file: f.File}
	default:
		return place{text: b.code.module(frame)}
	}
}

// name names the rows: by their files without the folders in which all agree.
func (b *builder) name() {
	paths := make([]string, len(b.table.Rows))
	for i := range b.table.Rows {
		if row := &b.table.Rows[i]; row.Name != "" {
			paths[i] = row.Name
		} else {
			paths[i] = b.code.file(row.Frame)
		}
	}
	short := Shorten(paths)
	for i := range b.table.Rows {
		row, file := &b.table.Rows[i], short[paths[i]]
		switch {
		case row.Name != "":
			if b.by == Module {
				row.Name = file
			}
		case b.by == File:
			row.Name = file
		case file == "":
			row.Name = b.code.function(row.Frame)
		case b.by == Function:
			row.Name = file + " " + b.code.function(row.Frame)
		default:
			row.Name = file + trace.LineText(file, b.code.tables.Frames[row.Frame].Line) + " " + b.code.function(row.Frame)
		}
	}
}
