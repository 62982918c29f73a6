package wire

import (
	"encoding/binary"

	"github.com/memtop/memtop/snapshots/trace"
)

// counts says how many entries each table has.
type counts struct {
	strings, lists, pools, streams, frames, stacks, notes int
}

// fixedCounts are the entries that all tables begin with and that are never sent.
var fixedCounts = counts{strings: 2, lists: 1, pools: 1, streams: 1, frames: 1, stacks: 2, notes: 1}

// tableFrame is the size after which another frame of the same table begins.
const tableFrame = 32 << 10

// Tables sends the new entries of t since the last call. Each t must be a later
// view of the same tables. Entries refer only to earlier entries.
func (e *Encoder) Tables(t *trace.Tables) {
	e.table(StringTable, &e.sent.strings, len(t.Strings), func(i int) { e.text(t.Strings[i]) })
	e.table(ListTable, &e.sent.lists, len(t.Lists), func(i int) { appendIDs(e, t.Lists[i]) })
	e.table(PoolTable, &e.sent.pools, len(t.Pools), func(i int) {
		e.signed(t.Pools[i][0])
		e.signed(t.Pools[i][1])
	})
	e.table(StreamTable, &e.sent.streams, len(t.Streams), func(i int) { e.number(t.Streams[i]) })
	e.table(FrameTable, &e.sent.frames, len(t.Frames), func(i int) {
		f := &t.Frames[i]
		e.number(uint64(f.File))
		e.number(uint64(f.Name))
		e.signed(int64(f.Line))
	})
	e.table(StackTable, &e.sent.stacks, t.StackCount(), func(i int) { appendIDs(e, t.Stack(trace.StackID(i))) })
	e.table(NoteTable, &e.sent.notes, len(t.Notes), func(i int) {
		n := t.Notes[i]
		for _, text := range n.Texts() {
			e.number(uint64(*text))
		}
		e.number(uint64(n.Pool))
		e.number(uint64(n.Forward))
	})
}

// table sends the entries of one table that are new, in one or more frames.
func (e *Encoder) table(t Type, sent *int, count int, entry func(int)) {
	for *sent < count {
		e.frame()
		for *sent < count && len(e.buf)-e.begin < tableFrame {
			entry(*sent)
			*sent++
		}
		e.end(t)
	}
}

func (e *Encoder) number(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }

func (e *Encoder) signed(n int64) { e.buf = binary.AppendVarint(e.buf, n) }

func (e *Encoder) text(s string) {
	e.number(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func appendIDs[ID ~uint32](e *Encoder, ids []ID) {
	e.number(uint64(len(ids)))
	for _, id := range ids {
		e.number(uint64(id))
	}
}
