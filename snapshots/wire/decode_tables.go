package wire

import (
	"errors"
	"fmt"
	"math"

	"memtop/snapshots/trace"
)

// ids translates a stream's numbers to those of the decoder's tables.
type ids struct {
	strings []trace.StringID
	lists   []trace.ListID
	pools   []trace.PoolID
	streams []trace.StreamID
	frames  []trace.FrameID
	stacks  []trace.StackID
	notes   []trace.NoteID
}

// reset leaves only the entries that all tables begin with.
func (n *ids) reset() {
	*n = ids{
		strings: append(n.strings[:0], 0, trace.EmptyString),
		lists:   append(n.lists[:0], 0),
		pools:   append(n.pools[:0], 0),
		streams: append(n.streams[:0], trace.DefaultStream),
		frames:  append(n.frames[:0], 0),
		stacks:  append(n.stacks[:0], 0, trace.EmptyStack),
		notes:   append(n.notes[:0], 0),
	}
}

// lookup translates a number. One that is not in the table is 0, and noted.
func lookup[ID any](c *cursor, table []ID, n uint64) ID {
	if n >= uint64(len(table)) {
		c.fail()
		n = 0
	}
	return table[n]
}

// Entries that are new cost what they hold, and this many bytes of tables and
// maps. All cost a number, until the next header.
const (
	entryCost  = 64
	numberCost = 8
)

func (d *Decoder) table(t Type, c *cursor) error {
	for len(c.b) > 0 {
		bytes, entries := len(c.b), d.entries()
		d.entry(t, c)
		if c.short {
			return errors.New("an entry is cut off or refers to one that is not there")
		}
		if d.entries() > entries {
			d.taken += int64(entryCost + 8*(bytes-len(c.b)))
		}
		if d.numbers += numberCost; d.taken+d.numbers > d.limits.Tables {
			return fmt.Errorf("the tables take more than %d bytes", d.limits.Tables)
		}
	}
	return nil
}

// entries returns how many entries all tables have.
func (d *Decoder) entries() int {
	t := &d.in.Tables
	return len(t.Strings) + len(t.Lists) + len(t.Pools) + len(t.Streams) + len(t.Frames) + t.StackCount() + len(t.Notes)
}

func (d *Decoder) entry(t Type, c *cursor) {
	n := &d.ids
	switch t {
	case StringsFrame:
		n.strings = append(n.strings, d.in.Bytes(c.bytes()))
	case ListsFrame:
		n.lists = append(n.lists, d.in.List(numbers(c, n.strings)))
	case PoolsFrame:
		n.pools = append(n.pools, d.in.Pool(trace.Pool{c.signed(), c.signed()}))
	case StreamsFrame:
		n.streams = append(n.streams, d.in.Stream(c.number()))
	case FramesFrame:
		f := trace.Frame{File: lookup(c, n.strings, c.number()), Name: lookup(c, n.strings, c.number())}
		line := c.signed()
		f.Line = int32(min(max(line, math.MinInt32), math.MaxInt32))
		n.frames = append(n.frames, d.in.Frame(f))
	case StacksFrame:
		n.stacks = append(n.stacks, d.in.Stack(numbers(c, n.frames)))
	default: // NotesFrame
		n.notes = append(n.notes, d.in.Note(d.note(c)))
	}
}

// numbers reads a list of numbers.
func numbers[ID any](c *cursor, table []ID) []ID {
	list := make([]ID, c.count(1))
	for i := range list {
		list[i] = lookup(c, table, c.number())
	}
	return list
}

func (d *Decoder) note(c *cursor) trace.Note {
	n := &d.ids
	text := func() trace.StringID { return lookup(c, n.strings, c.number()) }
	return trace.Note{
		Action: text(), CompileContext: text(), UserMetadata: text(), Category: text(), Layer: text(),
		Role: text(), Shape: text(), DType: text(),
		Pool: lookup(c, n.pools, c.number()), Forward: lookup(c, n.lists, c.number()),
	}
}
