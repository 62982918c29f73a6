package export

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
)

// CSV
//
// A row for every event. Size is what the event says, live_after the requested
// bytes alive right after it. Category and stack are those of the allocation that
// the event begins, ends or tags anew; stack is the frame of it that tells the most. A cell
// of what the trace does not say is empty.

const csvHeader = "device,index,action,addr,size,stream,time_us,category,live_after,stack\n"

func writeCSV(w io.Writer, t *trace.Trace, o Options) error {
	out := &csvWriter{w: bufio.NewWriterSize(w, 1<<16)}
	out.buf = append(out.buf, csvHeader...)
	for _, x := range o.indexes(t) {
		out.device(x)
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
	index  *analysis.Index
	tables *trace.Tables
	stacks map[trace.StackID]string // as cells
}

func (c *csvWriter) device(x *analysis.Index) {
	c.index, c.tables, c.stacks = x, x.Trace().Tables, make(map[trace.StackID]string)
	x.Walk(func(i int, requested, _ int64) bool {
		c.row(i, x.Device().Events.At(i), requested)
		return c.err == nil
	})
}

func (c *csvWriter) flush() {
	if c.err == nil {
		_, c.err = c.w.Write(c.buf)
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
	c.allocation(i, e, live)
	c.buf = append(c.buf, '\n')
	c.flush()
}

// allocation writes the last three cells.
func (c *csvWriter) allocation(i int, e *trace.Event, live int64) {
	stack := e.Stack
	if a, ok := c.allocationOf(i, e); ok {
		category, _ := c.index.Category(a)
		c.buf = append(c.buf, category.String()...)
		stack = a.Stack
	}
	c.comma()
	c.integer(live)
	c.buf = append(c.buf, c.stack(stack)...)
}

// allocationOf returns what an event begins, ends or is about.
func (c *csvWriter) allocationOf(i int, e *trace.Event) (trace.Allocation, bool) {
	life := c.index.Lifetimes()
	switch {
	case e.Kind == trace.Alloc:
		return life.Allocation(trace.AllocationID(i)), true
	case e.Kind.Closes():
		return life.AllocationAt(life.Ended(i), i), true
	case e.Kind == trace.Retag:
		id, ok := life.Retagged(i)
		if ok {
			return life.AllocationAt(id, i), true
		}
	}
	return trace.Allocation{}, false
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

func (c *csvWriter) stack(id trace.StackID) string {
	cell, ok := c.stacks[id]
	if !ok {
		if frames := c.index.Telling(id, 1); len(frames) > 0 {
			cell = csvCell(label(c.index.FrameLabel(frames[0])))
		}
		c.stacks[id] = cell
	}
	return cell
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
	c.buf = append(c.buf, csvCell(s)...)
	c.comma()
}

// csvCell quotes text where CSV needs it. A cell that begins like a formula gets
// an apostrophe, because spreadsheets would run it.
func csvCell(s string) string {
	if s != "" && strings.IndexByte("=+-@", s[0]) >= 0 {
		s = "'" + s
	}
	if !strings.ContainsAny(s, "\",\r\n") && strings.TrimSpace(s) == s {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
