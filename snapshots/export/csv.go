package export

import (
	"bufio"
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

const csvHeader = "device,index,action,addr,size,stream,time_us,category,live_after,stack,site,layer,role,shape,dtype\n"

func writeCSV(w io.Writer, t *trace.Trace, o Options) error {
	out := &csvWriter{w: bufio.NewWriterSize(w, 1<<16), most: mostCell}
	out.buf = append(out.buf, csvHeader...)
	for _, x := range o.indexes(t) {
		out.device(x, o.AllFrames)
	}
	out.flush()
	if out.err != nil {
		return out.err
	}
	return out.w.Flush()
}

// csvWriter builds rows in buf. Its first error stays.
type csvWriter struct {
	w      *bufio.Writer
	buf    []byte
	err    error
	length int // bytes that are written
	most   int // bytes in a cell, about
	index  *analysis.Index
	tables *trace.Tables
	cells  map[trace.StackID]string // of a stack and its site
	bytes  int                      // in cells
	stacks *foldedNames
}

// A trace may have a text once while many rows repeat it, so both are bounded.
const (
	mostCell  = 32760     // bytes in a cell, about: spreadsheets take 32,767 characters
	mostCells = 16 << 20  // bytes that are remembered
	longFile  = 256 << 20 // bytes, after which a cell has
	shortCell = 1 << 10   // bytes at most, about
)

func (c *csvWriter) device(x *analysis.Index, allFrames bool) {
	c.index, c.tables = x, x.Trace().Tables
	c.cells, c.bytes, c.stacks = make(map[trace.StackID]string), 0, newFoldedNames(x, allFrames)
	x.Walk(func(i int, requested, _ int64) bool {
		c.row(i, x.Device().Events.At(i), requested)
		return c.err == nil
	})
	if x.History() {
		return
	}
	life, live := x.Lifetimes(), x.RequestedAt(x.End())
	life.Alive(x.End(), func(id trace.AllocationID) bool {
		c.held(life.AllocationAt(id, x.End()), live)
		return c.err == nil
	})
}

func (c *csvWriter) flush() {
	if c.err == nil {
		_, c.err = c.w.Write(c.buf)
	}
	if c.length += len(c.buf); c.length > longFile && c.most > shortCell {
		c.most = shortCell
		clear(c.cells)
	}
	c.buf = c.buf[:0]
}

func (c *csvWriter) row(i int, e *trace.Event, live int64) {
	c.integer(int64(c.index.Device().ID))
	c.integer(int64(i))
	c.text(c.action(e))
	if e.Absent&trace.NoAddr == 0 {
		c.buf = strconv.AppendUint(append(c.buf, "0x"...), e.Addr, 16)
	}
	c.comma()
	c.given(e.Size, e.Absent&trace.NoSize == 0)
	if e.Absent&trace.NoStream == 0 {
		c.buf = strconv.AppendUint(c.buf, c.tables.Stream(e.Stream), 10)
	}
	c.comma()
	c.given(e.Time, e.Absent&trace.NoTime == 0)
	if a, ok := c.index.Lifetimes().About(i); ok {
		c.allocation(a, live)
		return
	}
	c.comma()
	c.integer(live)
	c.where(e.Stack, &c.tables.Notes[0])
}

// held writes a row of live memory of a device without a history.
func (c *csvWriter) held(a trace.Allocation, live int64) {
	c.integer(int64(c.index.Device().ID))
	c.buf = append(c.buf, ",held,0x"...)
	c.buf = strconv.AppendUint(c.buf, a.Addr, 16)
	c.comma()
	c.integer(a.Size)
	c.buf = strconv.AppendUint(c.buf, c.tables.Stream(a.Stream), 10)
	c.buf = append(c.buf, ",,"...)
	c.allocation(a, live)
}

// allocation ends a row that is about an allocation.
func (c *csvWriter) allocation(a trace.Allocation, live int64) {
	category, _ := c.index.Category(a)
	c.text(category.String())
	c.integer(live)
	if a.FreeStack {
		a.Stack = 0
	}
	c.where(a.Stack, &c.tables.Notes[a.Note])
}

// where writes the cells of a stack and of a note, and ends the row.
func (c *csvWriter) where(stack trace.StackID, note *trace.Note) {
	c.buf = append(c.buf, c.place(stack)...)
	for _, id := range [...]trace.StringID{note.Layer, note.Role, note.Shape, note.DType} {
		c.comma()
		c.buf = append(c.buf, c.cell(label(c.tables.String(id)))...)
	}
	c.buf = append(c.buf, '\n')
	c.flush()
}

// action is the event's kind as its writer called it.
func (c *csvWriter) action(e *trace.Event) string {
	if e.Kind == trace.Other {
		if name := c.tables.String(c.tables.Notes[e.Note].Action); name != "" {
			return label(name)
		}
	}
	return e.Kind.String()
}

// place returns the cells of a stack and its site.
func (c *csvWriter) place(id trace.StackID) string {
	cells, ok := c.cells[id]
	if ok {
		return cells
	}
	cells = c.cell(c.stacks.line(id)) + ","
	if frames := c.index.Telling(id, 1); len(frames) > 0 {
		cells += c.cell(label(c.index.FrameLabel(frames[0])))
	}
	if c.bytes += len(cells); c.bytes > mostCells {
		clear(c.cells)
		c.bytes = len(cells)
	}
	c.cells[id] = cells
	return cells
}

func (c *csvWriter) comma() { c.buf = append(c.buf, ',') }

func (c *csvWriter) integer(n int64) { c.given(n, true) }

func (c *csvWriter) given(n int64, ok bool) {
	if ok {
		c.buf = strconv.AppendInt(c.buf, n, 10)
	}
	c.comma()
}

func (c *csvWriter) text(s string) {
	c.buf = append(c.buf, c.cell(s)...)
	c.comma()
}

// cell quotes text where CSV needs it. A cell that begins like a formula gets
// an apostrophe, because a spreadsheet would run it.
func (c *csvWriter) cell(s string) string {
	s = trace.ShortenPath(s, c.most)
	if s != "" && strings.IndexByte("=+-@", s[0]) >= 0 {
		s = "'" + s
	}
	if !strings.ContainsAny(s, "\",\r\n") && strings.TrimSpace(s) == s {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
