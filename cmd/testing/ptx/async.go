package ptx

import "unsafe"

// A copy of cp.async happens when its thread waits for it, and until then nobody may use
// the place that it goes to: what a kernel reads too early is reported, not only old.

// copying is a copy that has begun.
type copying struct {
	in     *instruction
	thread int // of the warp
	group  int
	to     unsafe.Pointer
	from   unsafe.Pointer // nil if nothing is read
	bytes  uint64         // that are read; the rest becomes 0
	cells  []cell
	by     stamp
}

const copyBytes = 16

// beginCopy is cp.async.cg: 16 bytes, of which the last ones become 0.
func beginCopy(w *warp, in *instruction) {
	for i := range width {
		if w.mask>>i&1 == 0 {
			continue
		}
		c := copying{in: in, thread: i, group: w.groups[i], bytes: uint64(uint32(w.registers[in.c][i]))}
		if c.bytes > copyBytes {
			w.fault(in, i, "it copies %d bytes of %d", c.bytes, copyBytes)
		}
		if c.bytes > 0 {
			c.from = w.readBy(in, i, w.registers[in.b][i], c.bytes)
		}
		address := uint64(uint32(w.registers[in.a][i])) + in.offset
		c.to = w.at(in, i, address)
		c.cells = w.block.cells[address/4 : address/4+copyBytes/4]
		for k := range c.cells {
			c.cells[k].pending = true
		}
		w.copies = append(w.copies, c)
	}
}

// readBy notes that a copy reads global memory.
func (w *warp) readBy(in *instruction, i int, address, bytes uint64) unsafe.Pointer {
	if address%copyBytes != 0 {
		w.fault(in, i, "%#x is not a multiple of %d", address, copyBytes)
	}
	reads := *in
	reads.access = access{space: global, bytes: bytes}
	return w.inGlobal(&reads, i, address, bytes)
}

// commitCopies closes the group of the copies that each thread has begun.
func commitCopies(w *warp, _ *instruction) {
	for i := range width {
		w.groups[i] += int(w.mask >> i & 1)
	}
}

// waitCopies lets the copies of all groups happen but the last few.
func waitCopies(w *warp, in *instruction) {
	left := w.copies[:0]
	for _, c := range w.copies {
		if w.mask>>c.thread&1 == 0 || c.group >= w.groups[c.thread]-int(in.offset) {
			left = append(left, c)
			continue
		}
		to := unsafe.Slice((*byte)(c.to), copyBytes)
		clear(to)
		if c.bytes > 0 {
			copy(to, unsafe.Slice((*byte)(c.from), c.bytes))
		}
		for k := range c.cells {
			c.cells[k].pending = false
			c.cells[k].writer = w.stamp(c.in, c.thread)
		}
	}
	w.copies = left
}

// copyOf builds cp.async.
func copyOf(l *linker, s *statement, in *instruction) {
	in.step, in.access = beginCopy, access{space: shared, bytes: copyBytes, writes: true}
	l.address(s, in, s.operands[0])
	in.b, in.c = l.register(inside(s.operands[1])[0]), l.operand(s, s.operands[3])
}

// waitsFor builds an instruction that waits until a number of groups is left.
func waitsFor(step func(*warp, *instruction)) func(*linker, *statement, *instruction) {
	return func(l *linker, s *statement, in *instruction) {
		in.step, in.offset = step, l.integer(s, s.operands[0])
	}
}
