package pytorch

import (
	"encoding/binary"
	"slices"

	"github.com/memtop/memtop/snapshots/pickle"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Shapes of entries
//
// The entries of a trace, and the blocks of segments, have the same keys in the same
// order, each key a reference to the same memo entry. The shape is learned from an entry that was
// read the ordinary way; the next is then read by comparing its keys with the
// shape's and taking the values between them, with no value stack and no dict.
// Anything unexpected (a key, an opcode, a new run of references, the end of the
// window) undoes the attempt, and the entry is read the ordinary way. So a shape
// changes only the speed.

// shapeKey is a key as the shape expects it: a reference to a memo entry that is a
// name.
type shapeKey struct {
	key    name
	length int    // of the reference, in bytes
	bytes  uint64 // the reference, read as a number
	mask   uint64 // of what of such a number is the reference's
}

type shape struct {
	keys []shapeKey
	mask uint64
	// hits and misses decide whether trying is worth it.
	hits, misses int
}

// hopeless reports whether trying has cost more than it gained. The first
// entries of a file all miss: their stacks are new.
func (s *shape) hopeless() bool { return s.misses > 10_000+s.hits }

// longestEntry is how much the window must hold for an entry to be tried.
const longestEntry = lookahead

// begins reports whether an entry of the shape may begin here, after the opcode of
// its dict.
func (s *shape) begins(b []byte) bool {
	if len(s.keys) == 0 {
		return false
	}
	if b[0] == pickle.Memoize {
		b = b[1:]
	}
	first := &s.keys[0]
	return b[0] == pickle.Mark && binary.LittleEndian.Uint64(b[1:])&first.mask == first.bytes
}

// entry is the state of reading one entry by its shape.
type entry struct {
	m     *machine
	shape *shape
	b     []byte // the window
	pos   int
	made  [8]uint32 // what it puts into the memo; memoSelf is the entry itself
	count int       // of made
	dry   bool      // change nothing: the entry has been read
}

// shaped reads the entry whose dict has just begun, and reports whether it did.
func (m *machine) shaped() bool {
	if m.end-m.pos < longestEntry {
		return false
	}
	for _, s := range [...]*shape{&m.shape, &m.blockShape} {
		if s.begins(m.buf[m.pos:m.end]) && !s.hopeless() {
			return m.shapedAs(s)
		}
	}
	return false
}

// shapedAs is shaped for entries of a shape: it goes on as long as the next one begins.
func (m *machine) shapedAs(s *shape) bool {
	var e entry // no literal: that would be made elsewhere and copied
	e.m, e.shape, e.b = m, s, m.buf[:m.end]
	if !m.entry(&e) {
		return false
	}
	for m.end-m.pos > longestEntry && e.b[m.pos] == pickle.EmptyDict && s.begins(e.b[m.pos+1:]) {
		m.pos++
		if !m.entry(&e) {
			m.pos-- // it is read the ordinary way
			break
		}
	}
	return true
}

// entry reads one entry by its shape, and reports whether it did.
func (m *machine) entry(e *entry) bool {
	e.pos, e.count = m.pos, 0
	last := m.raw.last
	if e.read() && m.memo.unused(e.count) {
		m.fields.have = e.shape.mask
		if v, _, err := m.recordOf(&m.fields); err == nil && m.push(v) == nil {
			m.memo.append(e.made[:e.count], v)
			m.pos = e.pos
			e.shape.hits++
			return true
		}
	}
	m.raw.last = last
	e.shape.misses++
	return false
}

// read reads the entry, of which nothing is stored yet.
func (e *entry) read() bool {
	if e.b[e.pos] == pickle.Memoize {
		e.made[0], e.count = memoSelf, 1
		e.pos++
	}
	e.pos++
	return e.b[e.pos-1] == pickle.Mark && e.fields()
}

// fields reads keys and values up to the dict's end. Most values are references or
// numbers, which are read here, without a call.
func (e *entry) fields() bool {
	keys, b, pos, memo, values := e.shape.keys, e.b, e.pos, &e.m.memo, &e.m.fields.value
	for i := range keys {
		k := &keys[i]
		if pos+64 > len(b) || binary.LittleEndian.Uint64(b[pos:])&k.mask != k.bytes {
			return false
		}
		pos += k.length
		v := &values[k.key]
		next := b[pos : pos+16]
		switch next[0] {
		case pickle.BinGet, pickle.LongBinGet:
			at, n := referenceOf(next)
			if *v, _ = memo.plain(at); v.tag == tagString || v.tag == tagStack {
				pos += n
				continue
			}
		case pickle.BinInt1, pickle.BinInt2, pickle.BinInt, pickle.Long1:
			n, length := integerOf(next)
			if end := next[length]; end == pickle.BinGet || end == pickle.LongBinGet || end == pickle.SetItems {
				*v = intValue(n)
				pos += length
				continue
			}
		}
		e.pos = pos
		if !e.value(v) {
			return false
		}
		pos = e.pos
	}
	if pos+2 > len(b) || b[pos] != pickle.SetItems || b[pos+1] == pickle.Mark {
		return false
	}
	e.pos = pos + 1
	return true
}

// value reads one value.
func (e *entry) value(v *value) bool {
	switch e.b[e.pos] {
	case pickle.BinGet, pickle.LongBinGet:
		at, length := referenceOf(e.b[e.pos:])
		e.pos += length
		return e.recall(v, at)
	case pickle.EmptyList:
		return e.stack(v)
	case pickle.ShortBinUni:
		return e.text(v)
	}
	n, ok := e.integer()
	if !ok {
		return false
	}
	*v = intValue(n)
	if e.b[e.pos] == pickle.BinGet || e.b[e.pos] == pickle.LongBinGet || e.b[e.pos] == pickle.SetItems {
		return true
	}
	return e.pair(v, n)
}

// recall takes a string, a stack or an empty list from the memo.
func (e *entry) recall(v *value, at uint32) bool {
	var ok bool
	if *v, ok = e.m.memo.plain(at); ok {
		return v.tag <= tagStack && v.tag != tagDict && (v.tag != tagList || int(v.id) < e.m.lists.len())
	}
	*v, ok = e.m.memo.get(at)
	return ok && v.tag == tagList
}

// referenceOf reads a reference to a memo entry, and returns how many bytes it takes, 0
// for none.
func referenceOf(b []byte) (at uint32, length int) {
	switch b[0] {
	case pickle.BinGet:
		return uint32(b[1]), 2
	case pickle.LongBinGet:
		return binary.LittleEndian.Uint32(b[1:]), 5
	}
	return 0, 0
}

// integer reads a number of up to 64 bits.
func (e *entry) integer() (int64, bool) {
	n, length := integerOf(e.b[e.pos : e.pos+16])
	e.pos += length
	return n, length > 0
}

// integerOf reads a number of up to 64 bits from the first of 16 bytes, and returns how
// many it takes, 0 for none.
func integerOf(b []byte) (n int64, length int) {
	switch b[0] {
	case pickle.BinInt1:
		return int64(b[1]), 2
	case pickle.BinInt2:
		return int64(binary.LittleEndian.Uint16(b[1:])), 3
	case pickle.BinInt:
		return int64(int32(binary.LittleEndian.Uint32(b[1:]))), 5
	case pickle.Long1:
		if size := int(b[1]); size <= 8 {
			unused := 64 - 8*size
			return int64(binary.LittleEndian.Uint64(b[2:])<<unused) >> unused, 2 + size
		}
	}
	return 0, 0
}

// pair reads the second half of a pair of numbers, a pool.
func (e *entry) pair(v *value, first int64) bool {
	second, ok := e.integer()
	if !ok || e.b[e.pos] != pickle.Tuple2 {
		return false
	}
	e.pos++
	*v = value{tag: tagPool, id: uint32(e.m.in.Pool(trace.Pool{first, second}))}
	return e.memoize(*v)
}

// memoize stores v if the writer does so here.
func (e *entry) memoize(v value) bool {
	if e.b[e.pos] != pickle.Memoize {
		return true
	}
	e.pos++
	if e.dry {
		return true
	}
	if e.count == len(e.made) || v.id > idMask {
		return false
	}
	e.made[e.count] = e.m.memo.pack(v)
	e.count++
	return true
}

// text reads a short string that is interned already.
func (e *entry) text(v *value) bool {
	n := int(e.b[e.pos+1])
	if e.pos+n+64 > len(e.b) {
		return false
	}
	id, ok := e.m.in.Known(e.b[e.pos+2 : e.pos+2+n])
	if !ok {
		return false
	}
	e.pos += 2 + n
	*v = stringValue(id)
	return e.memoize(*v)
}

// stack reads a list of frames.
func (e *entry) stack(v *value) bool {
	e.pos++
	at := e.pos
	if e.b[at] == pickle.Memoize {
		at++
	}
	*v = value{tag: tagList}
	switch e.b[at] {
	case pickle.Mark:
		return e.run(v, at)
	case pickle.BinGet, pickle.LongBinGet:
		return e.single(v, at)
	default:
		return e.memoize(*v)
	}
}

// single reads a list of one frame, which is appended without a mark.
func (e *entry) single(v *value, at int) bool {
	var frame [1]value
	index, length := referenceOf(e.b[at:])
	after := at + length
	if e.b[after] != pickle.Append || !e.recall(&frame[0], index) {
		return false
	}
	id, ok := e.m.stackOf(frame[:])
	*v = value{tag: tagStack, id: uint32(id)}
	ok = ok && e.memoize(*v)
	e.pos = after + 1
	return ok
}

// run reads a list of frames that is a known run of references.
func (e *entry) run(v *value, at int) bool {
	if e.dry {
		n := runLength(e.b[at+1:])
		e.pos = at + 1 + n + 1
		return n > 0
	}
	found := e.m.raw.find(e.b[at+1:])
	if found == 0 {
		return false
	}
	run := &e.m.raw.runs[found]
	*v = value{tag: tagStack, id: uint32(run.stack)}
	ok := e.memoize(*v)
	e.pos = at + 1 + len(run.bytes) + 1
	return ok && e.pos+64 <= len(e.b)
}

// learn takes the shape of the entry just read the ordinary way, if its dict is
// the one begun last and still in the window.
func (m *machine) learn(s *shape) {
	start := int(m.dictStart - m.base)
	if m.dictStart < 0 || start < m.first || s.hopeless() {
		return
	}
	e := entry{m: m, b: m.buf[:m.end], pos: start, dry: true}
	e.pos += putLength(e.b[start:]) + 1
	var keys []shapeKey
	var mask uint64
	for e.pos+64 < len(e.b) && e.b[e.pos] != pickle.SetItems {
		k, ok := e.key()
		var skipped value
		if !ok || !e.value(&skipped) {
			return
		}
		keys = append(keys, k)
		mask |= 1 << k.key
	}
	if len(keys) > 0 && e.pos == m.pos-1 && !slices.Equal(keys, s.keys) {
		s.keys, s.mask = keys, mask
	}
}

// key reads a key that is a reference to a name.
func (e *entry) key() (shapeKey, bool) {
	at, length := referenceOf(e.b[e.pos:])
	if length == 0 {
		return shapeKey{}, false
	}
	k := shapeKey{length: length}
	k.mask = 1<<(8*k.length) - 1
	k.bytes = binary.LittleEndian.Uint64(e.b[e.pos:]) & k.mask
	e.pos += k.length
	v, ok := e.m.memo.plain(at)
	k.key = nameOf(trace.StringID(v.id))
	return k, ok && v.tag == tagString && k.key < keyCount
}
