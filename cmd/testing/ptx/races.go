package ptx

import (
	"bytes"
	"fmt"
	"unsafe"
)

// Threads race if two of them use the same bytes, one of them writes, and nothing orders
// the two: no barrier of the block between them, and no release and acquire between two
// blocks. Every word of memory has a note on who used it last, and when; so a race is
// found whatever the order in which the threads happen to run.

// stamp is a use of memory: by which thread, and after how many barriers of its block.
type stamp struct {
	thread uint32 // of the grid, from 1 on; 0 is nobody
	epoch  uint32
	at     int32 // the instruction
	strong bool
}

// cell is a note on a word, or on a byte of one.
type cell struct {
	writer, reader stamp
	many           bool     // others than reader read it, too, with nothing in between
	pending        bool     // the writer has begun a copy to it, and not waited for that
	bytes          *[4]cell // if bytes of the word were used alone
}

// stamp returns the use of memory by a thread now.
func (w *warp) stamp(in *instruction, i int) stamp {
	b, thread := w.block, w.first+uint32(i)
	return stamp{b.number*uint32(b.threads) + thread + 1, b.epoch, w.next - 1, in.access.strong}
}

// conflict is an earlier use of memory with which one races; of nobody if there is none.
type conflict struct {
	stamp
	did string
}

// known reports whether a note on a word of shared memory says all about another read of
// it: the thread has read it since the last barrier, or several threads have. If several
// have without a race, so may all.
func (w *warp) known(in *instruction, i int, c *cell) bool {
	b := w.block
	return !in.access.writes && c.reader.epoch == b.epoch && !c.pending && (c.many || c.reader.thread == b.number*uint32(b.threads)+w.first+uint32(i)+1)
}

// visit notes a use of n bytes of a word, from one of them on. It reports whether all of
// them had been written.
func (w *warp) visit(writes bool, c *cell, by stamp, from, n uint64) (written bool, race conflict) {
	if n == 4 && c.bytes == nil {
		return w.use(writes, c, by)
	}
	if c.bytes == nil {
		c.bytes = &[4]cell{*c, *c, *c, *c}
	}
	written = true
	for k := from; k < from+n; k++ {
		was, with := w.use(writes, &c.bytes[k], by)
		written = was && written
		if with.thread != 0 {
			race = with
		}
	}
	return written, race
}

func (w *warp) use(writes bool, c *cell, by stamp) (written bool, race conflict) {
	b, last := w.block, c.reader
	written = c.writer.thread != 0
	switch {
	case c.pending || !b.follows(by, c.writer):
		race = conflict{c.writer, "wrote"}
	case writes && !b.follows(by, last), writes && c.many && last.thread == by.thread && last.epoch == by.epoch:
		race = conflict{last, "read"}
	}
	switch {
	case writes:
		c.writer, c.reader, c.many = by, stamp{}, false
		return written, race
	case last.thread != by.thread:
		c.many = !b.follows(by, last)
	case last.epoch != by.epoch:
		c.many = false
	}
	c.reader = by
	return written, race
}

// race ends the launch, unless both have written the same, of which nobody can tell the
// order.
func (w *warp) race(in *instruction, i int, with conflict, at unsafe.Pointer) {
	if with.did == "wrote" && in.access.writes && w.unchanged(in, i, at) {
		return
	}
	s := w.program.code[with.at].written
	w.fault(in, i, "races with %s, which %s the same at line %d, %s", w.block.who(with.thread-1), with.did, s.line, s.opcode)
}

// unchanged reports whether a store leaves memory as it is.
func (w *warp) unchanged(in *instruction, i int, at unsafe.Pointer) bool {
	if len(in.list) == 0 {
		return false
	}
	size := int(in.access.bytes) / len(in.list)
	memory := unsafe.Slice((*byte)(at), in.access.bytes)
	for k, r := range in.list {
		word := (*[8]byte)(unsafe.Pointer(&w.registers[r][i]))
		if !bytes.Equal(memory[k*size:(k+1)*size], word[:size]) {
			return false
		}
	}
	return true
}

// who says which thread of the grid one is.
func (b *block) who(number uint32) string {
	thread := number % uint32(b.threads)
	if number/uint32(b.threads) == b.number {
		return fmt.Sprintf("thread %d", thread)
	}
	return fmt.Sprintf("thread %d of block %d", thread, number/uint32(b.threads))
}

// follows reports whether a use of memory cannot race with an earlier one.
func (b *block) follows(by, earlier stamp) bool {
	if earlier.thread == 0 || earlier.thread == by.thread || earlier.strong && by.strong {
		return true
	}
	other := (earlier.thread - 1) / uint32(b.threads)
	if other == b.number {
		return earlier.epoch < by.epoch
	}
	if b.knows[other].covers(earlier) {
		return true
	}
	for _, l := range b.learnt {
		if l.thread == by.thread && l.what[other].covers(earlier) {
			return true
		}
	}
	return false
}

// known is what one knows of another block: all that it did before it passed a number of
// barriers, and what one of its threads did until it passed the next.
type known struct{ epoch, thread uint32 }

func (k known) covers(s stamp) bool {
	return s.epoch < k.epoch || s.epoch == k.epoch && s.thread == k.thread
}

// knowledge is by block.
type knowledge map[uint32]known

// learnt is what a thread has acquired, and its block does not know before the next
// barrier.
type learnt struct {
	thread uint32
	what   knowledge
}

func (k knowledge) add(other knowledge) {
	for block, n := range other {
		if n.epoch > k[block].epoch {
			k[block] = n
		}
	}
}

// order notes what a thread acquires at an address, and what it releases there.
func (w *warp) order(in *instruction, i int, address uint64) {
	b, l := w.block, w.block.launch
	by := w.stamp(in, i)
	if in.access.acquire && l.notes[address] != nil {
		b.learnt = append(b.learnt, learnt{by.thread, l.notes[address]})
	}
	if !in.access.release {
		return
	}
	all := knowledge{b.number: {b.epoch, by.thread}}
	all.add(b.knows)
	for _, l := range b.learnt {
		if l.thread == by.thread {
			all.add(l.what)
		}
	}
	l.notes[address] = all
}

// pass lets the block pass a barrier, behind which every thread knows what each knew.
func (b *block) pass() {
	for _, l := range b.learnt {
		if b.knows == nil {
			b.knows = make(knowledge)
		}
		b.knows.add(l.what)
	}
	b.learnt = b.learnt[:0]
	b.epoch++
}
