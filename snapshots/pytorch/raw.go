package pytorch

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	"github.com/memtop/memtop/snapshots/pickle"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Runs of references
//
// Nine tenths of a snapshot's bytes are lists of frames, and nearly all of
// them are runs of references to frame dicts in the memo, the same runs over
// and over: 22,332 entries of one real file have 188 distinct stacks. So a run
// is recognised by its bytes, from the mark to the opcode that ends it, without
// looking at its references one by one. This is correct as long as memo entries
// keep their meaning; when one is overwritten all runs are forgotten.
//
// Training is a loop, so runs also repeat in order: the run that followed the
// current one last time is compared first.

// rawRun is a known run and its stack.
type rawRun struct {
	bytes []byte
	stack trace.StackID
}

// guesses is how many successors are compared before the run is hashed.
const guesses = 4

// successors are the runs that followed a run, the latest first.
type successors [guesses]int32

type rawStacks struct {
	seed    maphash.Seed
	runs    []rawRun // only appended to
	follows []successors
	index   map[uint64]int32
	last    int32 // the run read last
	held    int64 // bytes of all runs
}

// rawRunBytes is the memory of a run beside its own bytes.
const rawRunBytes = 192

func (r *rawStacks) init() {
	r.seed = maphash.MakeSeed()
	r.forget()
}

func (r *rawStacks) forget() {
	if len(r.runs) > 1 || r.index == nil {
		r.runs, r.follows = make([]rawRun, 1), make([]successors, 1)
		r.index = make(map[uint64]int32)
		r.last, r.held = 0, 0
	}
}

// find returns the known run that b starts with, if APPENDS follows it, or 0.
func (r *rawStacks) find(b []byte) int32 {
	for i, next := range r.follows[r.last] {
		if next != 0 && r.runs[next].begins(b) {
			r.follow(i, next)
			return next
		}
	}
	n := runLength(b)
	if n == 0 {
		return 0
	}
	at := r.index[maphash.Bytes(r.seed, b[:n])]
	if at == 0 || !bytes.Equal(r.runs[at].bytes, b[:n]) {
		return 0
	}
	r.follow(guesses-1, at)
	return at
}

// follow puts run at first among the last run's guesses, in place of guess i,
// and makes it the last run.
func (r *rawStacks) follow(i int, at int32) {
	next := &r.follows[r.last]
	copy(next[1:i+1], next[:i])
	next[0] = at
	r.last = at
}

// begins reports whether b is the run followed by the end of the list.
func (r *rawRun) begins(b []byte) bool {
	n := len(r.bytes)
	return len(b) > n && b[n] == pickle.Appends && bytes.Equal(b[:n], r.bytes)
}

// add remembers a run.
func (r *rawStacks) add(b []byte, stack trace.StackID) {
	r.held += int64(len(b)) + rawRunBytes
	r.index[maphash.Bytes(r.seed, b)] = int32(len(r.runs))
	r.runs, r.follows = append(r.runs, rawRun{bytes: bytes.Clone(b), stack: stack}), append(r.follows, successors{})
}

// runLength returns the length of the run of references that b starts with,
// or 0 when it does not end with the end of a list within b.
func runLength(b []byte) int {
	at := 0
	for at < len(b) {
		switch b[at] {
		case pickle.LongBinGet:
			at += 5
		case pickle.BinGet:
			at += 2
		case pickle.Appends:
			return at
		default:
			return 0
		}
	}
	return 0
}

// emptyList pushes a list. When a known run of references fills it, the run is
// skipped and its stack is pushed instead.
func (m *machine) emptyList() error {
	if err := m.push(value{tag: tagList}); err != nil {
		return err
	}
	at := m.pos + putLength(m.buf[m.pos:m.end])
	b := m.buf[at:m.end]
	if len(b) < 2 || b[0] != pickle.Mark || (b[1] != pickle.BinGet && b[1] != pickle.LongBinGet) {
		return nil
	}
	found := m.raw.find(b[1:])
	if found == 0 {
		m.pendingRun = m.base + int64(at) + 1
		return nil
	}
	run := &m.raw.runs[found]
	m.stack[len(m.stack)-1] = value{tag: tagStack, id: uint32(run.stack)}
	if at > m.pos {
		if err := m.putAt(m.pos); err != nil {
			return err
		}
	}
	m.pos = at + 1 + len(run.bytes) + 1
	return nil
}

// putLength returns the length of the opcode that b starts with if it stores
// the top of the stack in the memo, else 0.
func putLength(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == pickle.Memoize:
		return 1
	case b[0] == pickle.BinPut:
		return min(2, len(b))
	case b[0] == pickle.LongBinPut:
		return min(5, len(b))
	default:
		return 0
	}
}

// putAt executes the storing opcode at a place in the window.
func (m *machine) putAt(at int) error {
	switch m.buf[at] {
	case pickle.Memoize:
		return m.memoizeNext()
	case pickle.BinPut:
		return m.memoize(uint32(m.buf[at+1]))
	default:
		return m.memoize(binary.LittleEndian.Uint32(m.buf[at+1:]))
	}
}

// learnRun remembers the run that the list just filled was read from, if all
// of it is still in the window.
func (m *machine) learnRun(stack trace.StackID) {
	start := int(m.pendingRun - m.base)
	if m.pendingRun < 0 {
		return
	}
	m.pendingRun = -1
	if start < m.first {
		return
	}
	b := m.buf[start:m.pos]
	// A file whose runs take half of the memory has none worth remembering.
	if n := runLength(b); n > 0 && n == len(b)-1 && m.raw.held < m.free() {
		m.raw.add(b[:n], stack)
	}
}
