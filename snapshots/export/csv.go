package export

import (
	"cmp"
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// CSV
//
// A row for every event. Size is what the event says, live_after the requested
// bytes alive right after it. Category, layer, role, shape, type and stack are
// those of the allocation that the event begins, ends or tags anew. Stack has its
// frames from the program's entry inwards, as folded stacks have them, and site
// is the one that tells the most. A cell is empty if the trace lacks the value.
// If a text is too long for spreadsheets, only its end is written, and less of it
// once the file is very long. For a device without a history the rows list the live
// memory, as held and without an index.

var csvHeader = []string{
	"device", "index", "action", "addr", "size", "stream", "time_us", "category", "live_after", "stack", "site", "layer", "role", "shape", "dtype", "label",
}

func writeCSV(w io.Writer, t *trace.Trace, o Options) error {
	out := &csvWriter{w: csv.NewWriter(w), most: mostCell}
	err := out.w.Write(csvHeader)
	for _, x := range o.indexes(t) {
		if err == nil {
			err = out.device(x, o.AllFrames)
		}
	}
	out.w.Flush()
	return cmp.Or(err, out.w.Error())
}

// csvWriter builds rows.
type csvWriter struct {
	w      *csv.Writer
	row    []string
	length int // bytes that are written, about
	most   int // bytes in a cell, about
	index  *analysis.Index
	tables *trace.Tables
	places map[trace.StackID][2]string // the cells of a stack and its site
	bytes  int                         // in places
	stacks *foldedNames
}

// A trace may have a text once while many rows repeat it, so both are bounded.
const (
	mostCell  = 32760     // bytes in a cell, about: spreadsheets take 32,767 characters
	mostCells = 16 << 20  // bytes that are remembered
	longFile  = 256 << 20 // bytes, after which a cell has
	shortCell = 1 << 10   // bytes at most, about
)

func (c *csvWriter) device(x *analysis.Index, allFrames bool) (err error) {
	c.index, c.tables = x, x.Trace().Tables
	c.places, c.bytes, c.stacks = make(map[trace.StackID][2]string), 0, newFoldedNames(x, allFrames)
	x.Walk(func(i int, requested, _ int64) bool {
		err = c.event(i, x.Device().Events.At(i), requested)
		return err == nil
	})
	if err != nil || x.History() {
		return err
	}
	life, live := x.Lifetimes(), x.RequestedAt(x.End())
	life.Alive(x.End(), func(id trace.AllocationID) bool {
		a := life.AllocationAt(id, x.End())
		c.begin("", "held", address(a.Addr), integer(a.Size), c.stream(a.Stream), "")
		c.allocation(a, live)
		err = c.end()
		return err == nil
	})
	return err
}

func (c *csvWriter) event(i int, e *trace.Event, live int64) error {
	c.begin(strconv.Itoa(i), c.cell(c.action(e)), given(e, trace.NoAddr, address(e.Addr)), given(e, trace.NoSize, integer(e.Size)),
		given(e, trace.NoStream, c.stream(e.Stream)), given(e, trace.NoTime, integer(e.Time)))
	if a, ok := c.index.Lifetimes().About(i); ok {
		c.allocation(a, live)
	} else {
		c.row = append(c.row, "", integer(live))
		c.where(e.Stack, e.Note)
	}
	return c.end()
}

// begin starts a row with the first cells, after the device's.
func (c *csvWriter) begin(cells ...string) {
	c.row = append(append(c.row[:0], strconv.Itoa(c.index.Device().ID)), cells...)
}

// end writes the row.
func (c *csvWriter) end() error {
	for _, cell := range c.row {
		c.length += len(cell)
	}
	if c.length > longFile && c.most > shortCell {
		c.most = shortCell
		clear(c.places)
	}
	return c.w.Write(c.row)
}

func (c *csvWriter) allocation(a trace.Allocation, live int64) {
	category, _ := c.index.Category(a)
	c.row = append(c.row, category.String(), integer(live))
	if a.FreeStack {
		a.Stack = 0
	}
	c.where(a.Stack, a.Note)
}

// where adds where memory was allocated, and what a note says of it.
func (c *csvWriter) where(stack trace.StackID, id trace.NoteID) {
	place, note := c.place(stack), &c.tables.Notes[id]
	c.row = append(c.row, place[:]...)
	for _, id := range [...]trace.StringID{note.Layer, note.Role, note.Shape, note.DType} {
		c.row = append(c.row, c.cell(label(c.tables.String(id))))
	}
	c.row = append(c.row, c.cell(label(c.tables.Label(id))))
}

// action returns what happened, in PyTorch's own word if it is not one of ours.
func (c *csvWriter) action(e *trace.Event) string {
	if e.Kind == trace.Other {
		if name := c.tables.String(c.tables.Notes[e.Note].Action); name != "" {
			return label(name)
		}
	}
	return e.Kind.String()
}

// place returns the cells of a stack and its site.
func (c *csvWriter) place(id trace.StackID) [2]string {
	place, ok := c.places[id]
	if ok {
		return place
	}
	place[0] = c.cell(c.stacks.line(id))
	if frames := c.index.Telling(id, 1); len(frames) > 0 {
		place[1] = c.cell(label(c.index.FrameLabel(frames[0])))
	}
	if c.bytes += len(place[0]) + len(place[1]); c.bytes > mostCells {
		clear(c.places)
		c.bytes = len(place[0]) + len(place[1])
	}
	c.places[id] = place
	return place
}

func (c *csvWriter) stream(id trace.StreamID) string {
	return strconv.FormatUint(c.tables.Stream(id), 10)
}

// cell bounds a text. Spreadsheets would compute one that begins like a formula.
func (c *csvWriter) cell(s string) string {
	s = trace.ShortenPath(s, c.most)
	if s != "" && strings.IndexByte("=+-@", s[0]) >= 0 {
		s = "'" + s
	}
	return s
}

func address(addr uint64) string { return "0x" + strconv.FormatUint(addr, 16) }

func integer(n int64) string { return strconv.FormatInt(n, 10) }

// given returns a cell that the trace has, "" for one that an event lacks.
func given(e *trace.Event, lacks trace.Absent, cell string) string {
	if e.Absent&lacks != 0 {
		return ""
	}
	return cell
}
