package pytorch

import (
	"encoding/binary"
	"io"
	"math"
	"math/bits"

	"github.com/memtop/memtop/snapshots/pickle"

	"github.com/memtop/memtop/snapshots/trace"
)

// pickler writes opcodes. Values that recur are in the memo; the tables hold
// memo indices plus one, 0 for a value that was not written yet. The first error
// stays, and nothing is written after it.
type pickler struct {
	w       io.Writer
	buf     []byte
	err     error
	t       *trace.Trace
	memos   uint32 // memo entries made
	keys    [len(names)]uint32
	kinds   [trace.KindCount]uint32
	strings []uint32
	frames  []uint32
	stacks  []uint32
	pools   []uint32
	lists   []uint32
	values  map[string]uint32 // strings that are not in the tables

	categories categories
}

// flushAt is how many bytes are gathered before they are written.
const flushAt = 1 << 16

func (p *pickler) flush() {
	if p.err == nil && len(p.buf) > 0 {
		_, p.err = p.w.Write(p.buf)
	}
	p.buf = p.buf[:0]
}

func (p *pickler) op(code ...byte) { p.buf = append(p.buf, code...) }

// memoize puts the value written last into the memo and returns its entry.
func (p *pickler) memoize() uint32 {
	p.op(pickle.Memoize)
	p.memos++
	return p.memos
}

// recall writes a reference to a memo entry and reports whether there is one.
func (p *pickler) recall(entry uint32) bool {
	if entry == 0 {
		return false
	}
	if at := entry - 1; at < 256 {
		p.op(pickle.BinGet, byte(at))
	} else {
		p.op(pickle.LongBinGet)
		p.little(uint64(at), 4)
	}
	return true
}

// little writes the lowest n bytes of v, least first.
func (p *pickler) little(v uint64, n int) {
	p.buf = binary.LittleEndian.AppendUint64(p.buf, v)
	p.buf = p.buf[:len(p.buf)-8+n]
}

// key writes a key, or a value that is a name.
func (p *pickler) key(k name) { p.known(&p.keys[k], names[k]) }

// known writes a string and keeps its memo entry in entry.
func (p *pickler) known(entry *uint32, s string) {
	if !p.recall(*entry) {
		p.unicode(s)
		*entry = p.memoize()
	}
}

// text writes a string that is neither a name nor in the tables.
func (p *pickler) text(s string) {
	if !p.recall(p.values[s]) {
		p.unicode(s)
		p.values[s] = p.memoize()
	}
}

// string writes a string of the tables.
func (p *pickler) string(id trace.StringID) {
	p.known(&p.strings[id], p.t.Tables.Strings[id])
}

func (p *pickler) unicode(s string) {
	s = pythonText(s)
	switch n := uint64(len(s)); {
	case n < 1<<8:
		p.op(pickle.ShortBinUni, byte(n))
	case n < 1<<32:
		p.op(pickle.BinUnicode)
		p.little(n, 4)
	default:
		p.op(pickle.BinUnicode8)
		p.little(n, 8)
	}
	p.buf = append(p.buf, s...)
}

func (p *pickler) integer(n int64) {
	switch {
	case n >= 0 && n < 1<<8:
		p.op(pickle.BinInt1, byte(n))
	case n >= 0 && n < 1<<16:
		p.op(pickle.BinInt2)
		p.little(uint64(n), 2)
	case n == int64(int32(n)):
		p.op(pickle.BinInt)
		p.little(uint64(n), 4)
	default:
		width := 8
		for width > 1 && n == n<<(72-8*width)>>(72-8*width) {
			width--
		}
		p.op(pickle.Long1, byte(width))
		p.little(uint64(n), width)
	}
}

// unsigned writes an address, which from 2^63 up takes nine bytes.
func (p *pickler) unsigned(n uint64) {
	if n <= math.MaxInt64 {
		p.integer(int64(n))
		return
	}
	p.op(pickle.Long1, 9)
	p.little(n, 8)
	p.op(0)
}

func (p *pickler) float(f float64) {
	p.op(pickle.BinFloat)
	p.little(bits.ReverseBytes64(math.Float64bits(f)), 8)
}

func (p *pickler) boolean(b bool) {
	if b {
		p.op(pickle.NewTrue)
	} else {
		p.op(pickle.NewFalse)
	}
}

// batches writes items in runs of at most 1000, as Python does: one APPENDS
// must not need a whole trace on the reader's stack.
func (p *pickler) batches(n int, item func(i int)) {
	for from := 0; from < n; from += batch {
		if from == n-1 {
			item(from)
			p.op(pickle.Append)
			break
		}
		p.op(pickle.Mark)
		for i := from; i < min(n, from+batch); i++ {
			item(i)
			if len(p.buf) >= flushAt {
				p.flush()
			}
		}
		p.op(pickle.Appends)
	}
}

func (p *pickler) list(n int, item func(i int)) {
	p.op(pickle.EmptyList)
	p.batches(n, item)
}
