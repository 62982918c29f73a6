package pytorch

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"

	"github.com/memtop/memtop/snapshots/pickle"

	"github.com/memtop/memtop/snapshots/trace"
)

// lexicon is a copy of what the machine knew at a moment, for the scouts. It is
// immutable.
type lexicon struct {
	shape   shape
	begin   []byte // how an entry of the shape begins, after the opcode of its dict
	memo    memo
	edition int // of the memo and the shape: in a later one, entries may mean something else
	runs    []rawRun
	seed    maphash.Seed
	tables  trace.Tables
}

// size returns about how many bytes are copied to make a lexicon.
func (l *lexicon) size() int {
	return len(l.runs) + len(l.memo.pages) + len(l.tables.Notes) + len(l.tables.Pools) + len(l.tables.Streams)
}

// ahead has the entries that were read ahead in a block: spans of entries that
// follow one another.
type ahead struct {
	spans   []span
	events  []trace.Event
	ends    []entryEnd // of each event's entry
	memo    []uint32   // what the entries put into the memo
	edition int        // of the lexicon that they were read with
}

// span is a run of entries, each right behind the one before.
type span struct {
	from  int // after the opcode of the first one's dict, in the block's memory
	first int
	end   int    // number of the first entry behind
	kinds uint32 // bit k: there is an event of kind k
}

// entryEnd has the places where the next entry, and the memo entries that it
// puts, begin. If the entry's stack was too new for the lexicon, it also has the
// stack's memo index plus one, else 0.
type entryEnd struct {
	at, memo int32
	later    uint32
}

func (a *ahead) clear() {
	a.spans, a.events, a.ends, a.memo = a.spans[:0], a.events[:0], a.ends[:0], a.memo[:0]
}

// put returns the memo entries that the entries from number first up to end put.
func (a *ahead) put(first, end int) []uint32 {
	from := int32(0)
	if first > 0 {
		from = a.ends[first-1].memo
	}
	return a.memo[from:a.ends[end-1].memo]
}

// memoSelf stands for the entry itself among the memo entries that it puts,
// because its number is not known yet. No entry memoizes another.
const memoSelf = uint32(tagEvent)<<idBits | idMask

// scout reads ahead in blocks. It is a machine that uses a lexicon as its memory
// and learns nothing. The zero value is ready to use.
type scout struct {
	machine *machine
	lexicon *lexicon
}

// read reads the entries in a block that have the lexicon's shape and only known
// contents. If the lexicon is nil, it reads none.
func (s *scout) read(l *lexicon, b *block) {
	if l == nil {
		return
	}
	if s.lexicon != l {
		s.lexicon, s.machine = l, newScoutMachine(l)
	}
	m := s.machine
	m.buf, m.pos, m.end, m.base = b.buf, blockStart, b.end, b.offset-blockStart
	a := &b.ahead
	a.edition = l.edition
	for !m.shape.hopeless() {
		at := bytes.Index(m.buf[m.pos:m.end], l.begin)
		if at < 0 {
			return
		}
		m.pos += at
		s := span{from: m.pos, first: len(a.events)}
		for m.scout(a) && m.buf[m.pos] == pickle.EmptyDict {
			m.pos++
		}
		if s.end = len(a.events); s.end == s.first {
			m.pos++
			continue
		}
		for i := s.first; i < s.end; i++ {
			s.kinds |= 1 << a.events[i].Kind
		}
		a.spans = append(a.spans, s)
		m.pos = int(a.ends[s.end-1].at)
	}
}

func newScoutMachine(l *lexicon) *machine {
	m := &machine{
		window: &window{room: math.MaxInt64}, lists: noLists(), dicts: make([]dict, 1),
		memo: l.memo, shape: l.shape, in: l.tables.Reader(l.shape.texts), scouts: true,
		raw: rawStacks{runs: l.runs, seed: l.seed, index: make(map[uint64]int32, len(l.runs)), follows: make([]successors, len(l.runs))},
	}
	for i := 1; i < len(l.runs); i++ {
		m.raw.index[maphash.Bytes(l.seed, l.runs[i].bytes)] = int32(i)
	}
	return m
}

// scout reads the entry at pos ahead, and reports whether it did.
func (m *machine) scout(a *ahead) bool {
	s := &m.shape
	if m.end-m.pos < longestEntry {
		return false
	}
	var e entry // no literal: that would be made elsewhere and copied
	e.m, e.shape, e.b, e.pos = m, s, m.buf[:m.end], m.pos
	if e.read() {
		m.fields.have = s.mask
		a.events = append(a.events, trace.Event{})
		m.eventOf(&m.fields, &a.events[len(a.events)-1])
		if !m.in.Refused() && m.odd == 0 {
			a.memo = append(a.memo, e.made[:e.count]...)
			a.ends = append(a.ends, entryEnd{int32(e.pos), int32(len(a.memo)), e.later})
			m.pos = e.pos
			s.hits++
			return true
		}
		a.events = a.events[:len(a.events)-1]
	}
	s.misses++
	// The scout must not remember that a name was unknown.
	m.in.Refused()
	m.odd, *m.lists.at(0) = 0, list{}
	m.lastNote, m.lastStream = [trace.KindCount]noteCache{}, streamCache{}
	return false
}

// adopt takes over the entries that were read ahead from this place on, and
// reports whether there were any. It stops at an entry that the machine would not
// read by its shape.
func (m *machine) adopt() bool {
	a := &m.current.ahead
	for len(a.spans) > 0 && a.spans[0].from < m.pos {
		a.spans = a.spans[1:]
	}
	if len(a.spans) == 0 || a.spans[0].from != m.pos || a.edition != m.edition() {
		return false
	}
	s := &a.spans[0]
	i := s.first
	for i < s.end {
		n := m.adoptFrom(a, i, s)
		if n == 0 {
			break
		}
		i += n
		m.pos = int(a.ends[i-1].at)
	}
	adopted := i - s.first
	if i < s.end { // the machine reads this one, and the span goes on behind it
		s.from, s.first = int(a.ends[i].at)+1, i+1
	}
	m.snapshot.entryKeys |= m.shape.mask
	m.shape.hits += adopted
	m.shape.adopted += adopted
	return adopted > 0
}

// adoptFrom takes over the entries of a span from number first on, as far as their
// memory is counted, and returns how many.
func (m *machine) adoptFrom(a *ahead, first int, s *span) int {
	n := min(s.end-first, 1024-m.log.Len()%1024, cap(m.stack)-len(m.stack))
	if s.kinds&(1<<trace.OOM) != 0 || n == 0 || !m.memo.unused(len(a.put(first, first+n))) {
		n = 1
	}
	if n = m.findStacks(a, first, n); n == 0 {
		return 0
	}
	values := a.put(first, first+n)
	if !m.memo.unused(len(values)) || m.admit() != nil {
		return 0
	}
	at := uint32(m.log.Len())
	if n == 1 {
		if v, err := m.keep(&a.events[first]); err != nil || m.push(v) != nil {
			return 0
		}
	} else {
		m.kinds |= s.kinds
		m.log.AppendAll(a.events[first : first+n])
		for i := range uint32(n) {
			m.stack = append(m.stack, value{tag: tagEvent, id: at + i})
		}
	}
	m.memo.append(values, value{tag: tagEvent, id: at})
	return n
}

// findStacks looks at the n entries from number first on, and finds the stacks
// that were too new for the scout. It returns how many entries now have their
// stack.
func (m *machine) findStacks(a *ahead, first, n int) int {
	for i := first; i < first+n; i++ {
		end := &a.ends[i]
		if end.later == 0 {
			continue
		}
		at := end.later - 1
		v, ok := m.memo.plain(at)
		if i > first && at >= m.memo.next {
			put := a.put(first, i) // by the entries before it
			if ok = at-m.memo.next < uint32(len(put)); ok {
				v, ok = plain(put[at-m.memo.next])
			}
		}
		if !ok || v.tag != tagStack {
			return i - first
		}
		a.events[i].Stack = trace.StackID(v.id)
	}
	return n
}

// dueEntries is how many entries that scouts could have read the machine must
// read by shape before it makes a new lexicon.
const dueEntries = 2000

// readAhead starts the workers and gives them a new lexicon, once the machine
// knows the shape of entries.
func (m *machine) readAhead() {
	const worthwhile = 4 // blocks
	in := m.input
	if m.ended || in.total-m.came() < int64(worthwhile*in.size) || m.workers < 1 {
		return
	}
	if in.crew == nil {
		in.crew = newCrew(in, m.workers)
		m.log.Supply(in.crew.chunks)
		if m.replay == nil {
			m.replay = newReplayer(replayStep)
		}
	}
	if m.shape.alone < m.due {
		return
	}
	l := m.newLexicon()
	m.shape.alone, m.due = 0, m.pause+4*l.size()
	in.crew.learn(l)
}

// edition grows when a lexicon made before may be wrong.
func (m *machine) edition() int { return m.memo.edition + m.shape.edition }

func (m *machine) newLexicon() *lexicon {
	first := m.shape.keys[0]
	begin := binary.LittleEndian.AppendUint64([]byte{pickle.Mark}, first.bytes)[:1+first.length]
	if m.shape.memoized {
		begin = append([]byte{pickle.Memoize}, begin...)
	}
	return &lexicon{
		shape: shape{keys: m.shape.keys, mask: m.shape.mask, texts: slices.Clip(m.shape.texts)}, begin: begin,
		memo: m.memo.share(), edition: m.edition(), runs: slices.Clip(m.raw.runs), seed: m.raw.seed, tables: m.in.View(),
	}
}
