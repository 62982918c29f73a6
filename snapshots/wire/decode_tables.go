package wire

import (
	"math"

	"github.com/memtop/memtop/snapshots/trace"
)

// ids translates a stream's numbers to those of the decoder's tables.
type ids struct {
	strings column[trace.StringID]
	lists   column[trace.ListID]
	pools   column[trace.PoolID]
	streams column[trace.StreamID]
	frames  column[trace.FrameID]
	stacks  column[trace.StackID]
	notes   column[trace.NoteID]
}

// reset leaves only the entries that all tables begin with.
func (n *ids) reset() {
	n.strings.reset(0, trace.EmptyString)
	n.lists.reset(0)
	n.pools.reset(0)
	n.streams.reset(trace.DefaultStream)
	n.frames.reset(0)
	n.stacks.reset(0, trace.EmptyStack)
	n.notes.reset(0)
}

// column maps the numbers of one table: the first numbers to kept entries, and
// the rest to one substitute.
type column[ID any] struct {
	ids   []ID
	rest  ID
	count uint64 // of all received entries
}

func (t *column[ID]) reset(fixed ...ID) {
	t.ids, t.count = append(t.ids[:0], fixed...), uint64(len(fixed))
}

// add maps the next number to id, or to the substitute.
func (t *column[ID]) add(id ID, kept bool) {
	if t.count++; kept && t.count == uint64(len(t.ids)+1) {
		t.ids = append(t.ids, id)
	}
}

// lookup translates a number. For an unknown number it returns 0 and notes that.
func lookup[ID any](c *cursor, t *column[ID], n uint64) ID {
	switch {
	case n >= t.count:
		var none ID
		c.missing = !c.short
		c.fail()
		return none
	case n >= uint64(len(t.ids)):
		return t.rest
	}
	return t.ids[n]
}

// numberCost is how many bytes of room in the tables one more number needs.
const numberCost = 16

func (d *Decoder) table(t Type, c *cursor) error {
	for len(c.b) > 0 {
		d.numbers++
		kept := d.numbers <= d.limits.Tables/numberCost
		if !kept {
			rest := d.in.Rest()
			d.ids.strings.rest, d.ids.frames.rest, d.ids.stacks.rest = rest.Text, rest.Frame, rest.Stack
		}
		d.entry(t, c, kept)
		if err := c.err(); err != nil {
			return err
		}
	}
	return nil
}

// entry reads the entry of the next number, and keeps it if there is room.
func (d *Decoder) entry(t Type, c *cursor, kept bool) {
	n := &d.ids
	switch t {
	case StringTable:
		n.strings.add(d.in.Bytes(c.bytes()), kept)
	case ListTable:
		n.lists.add(d.in.List(numbers(c, &n.strings)), kept)
	case PoolTable:
		n.pools.add(d.in.Pool(trace.Pool{c.signed(), c.signed()}), kept)
	case StreamTable:
		n.streams.add(d.in.Stream(c.number()), kept)
	case FrameTable:
		f := trace.Frame{File: lookup(c, &n.strings, c.number()), Name: lookup(c, &n.strings, c.number())}
		line := c.signed()
		f.Line = int32(min(max(line, math.MinInt32), math.MaxInt32))
		n.frames.add(d.in.Frame(f), kept)
	case StackTable:
		n.stacks.add(d.in.Stack(numbers(c, &n.frames)), kept)
	default: // NoteTable
		n.notes.add(d.in.Note(d.note(c)), kept)
	}
}

// numbers reads a list of numbers.
func numbers[ID any](c *cursor, table *column[ID]) []ID {
	list := make([]ID, c.count(1))
	for i := range list {
		list[i] = lookup(c, table, c.number())
	}
	return list
}

func (d *Decoder) note(c *cursor) (n trace.Note) {
	for _, text := range n.Texts() {
		*text = lookup(c, &d.ids.strings, c.number())
	}
	n.Pool = lookup(c, &d.ids.pools, c.number())
	n.Forward = lookup(c, &d.ids.lists, c.number())
	return n
}
