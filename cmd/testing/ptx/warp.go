package ptx

import "math/bits"

// warp is 32 threads that execute one instruction at a time.
//
// When a branch parts them, one part goes on until it reaches the instruction at which
// all ways meet again; then the other does. So every instruction is executed by as many
// threads together as on a machine whose compiler places the meetings there, and an
// instruction that needs all threads of a warp is a mistake if some of them are elsewhere.
type warp struct {
	frame
	block     *block
	program   *Program
	first     uint32 // thread of the block
	all       uint32 // threads that there are
	registers []lanes
	stack     []frame // what goes on when this frame has reached its join
	status    status
	result    lanes  // before the threads that do not take part are left out
	local     []byte // of the threads, one after the other
	touched   []bool // the same bytes: something was written
	copies    []copying
	groups    [width]int // of copies that each thread has closed
}

// frame is threads that go on together, until they reach join.
type frame struct {
	next, join int32
	mask       uint32
}

// status is what a warp does.
type status uint8

const (
	running   status = iota
	atBarrier        // until all warps are
	waiting          // for another block, which publishes something
	finished
)

const everyone = 1<<width - 1

// begin lets a warp start at the entry.
func (w *warp) begin(b *block, number int) {
	w.block, w.first, w.status, w.stack = b, uint32(number*width), running, w.stack[:0]
	w.all = everyone
	if left := b.threads - int(w.first); left < width {
		w.all = 1<<left - 1
	}
	w.frame = frame{0, w.program.ends[w.program.code[0].function], w.all}
	for _, s := range w.program.specials {
		for i := range width {
			w.registers[s.register][i] = b.special(s.name, w.first+uint32(i))
		}
	}
	clear(w.touched)
	w.copies, w.groups = w.copies[:0], [width]int{}
}

// run executes instructions until the warp must wait.
func (w *warp) run() {
	code := w.program.code
	for w.status == running {
		if w.next == w.join {
			if len(w.stack) == 0 {
				w.status = finished
				return
			}
			w.frame = w.stack[len(w.stack)-1]
			w.stack = w.stack[:len(w.stack)-1]
			continue
		}
		in := &code[w.next]
		w.next++
		if in.lanes != nil {
			w.operate(in, in.lanes)
		} else {
			in.step(w, in)
		}
	}
}

// operate computes a register for the threads that take part.
func (w *warp) operate(in *instruction, operation operation) {
	d, a, b, c := &w.registers[in.d], &w.registers[in.a], &w.registers[in.b], &w.registers[in.c]
	if w.mask == everyone {
		operation(d, a, b, c)
		return
	}
	w.result = *d // of which a narrow type leaves the high bytes
	operation(&w.result, a, b, c)
	w.keep(d)
}

// keep gives the threads that take part their results.
func (w *warp) keep(d *lanes) {
	for left := w.mask; left != 0; left &= left - 1 {
		i := bits.TrailingZeros32(left)
		d[i] = w.result[i]
	}
}

// branch sends threads to a place, or parts them.
func branch(w *warp, in *instruction) {
	if in.target < w.next {
		w.block.launch.spend(w, in)
	}
	taken := w.mask
	if in.conditional {
		taken = w.those(in)
	}
	there, here := frame{in.target, in.join, taken}, frame{w.next, in.join, w.mask &^ taken}
	switch {
	case taken == w.mask:
		w.next = in.target
	case taken == 0:
	default:
		if in.join != w.join {
			w.stack = append(w.stack, frame{in.join, w.join, w.mask})
		}
		if there.next == in.join {
			there, here = here, there
		}
		if here.next != in.join {
			w.stack = append(w.stack, here)
		}
		w.frame = there
	}
}

// those returns the threads that take a branch.
func (w *warp) those(in *instruction) uint32 {
	var taken uint32
	for i, x := range w.registers[in.a] {
		taken |= uint32(x&1) << i
	}
	if in.unless {
		taken = ^taken
	}
	return taken & w.mask
}

// call copies parameters, and lets the threads go through a function.
func call(w *warp, in *instruction) {
	for i := 0; i < len(in.list); i += 2 {
		w.copySlot(in.list[i], in.list[i+1])
	}
	w.stack = append(w.stack, w.frame)
	w.frame = frame{in.target, in.join, w.mask}
}

func (w *warp) copySlot(to, from int32) {
	for k := range int32(slotWords) {
		w.result = w.registers[from+k]
		w.keep(&w.registers[to+k])
	}
}

// together checks that all threads of the warp take part.
func (w *warp) together(in *instruction) {
	if w.mask != w.all {
		w.fault(in, bits.TrailingZeros32(w.all&^w.mask), "needs the whole warp, and this thread is elsewhere")
	}
}

func barrier(w *warp, in *instruction) {
	w.together(in)
	w.status = atBarrier
}

// shuffle exchanges words among the threads of a warp.
func shuffle(w *warp, in *instruction) {
	w.together(in)
	a := w.registers[in.a]
	for i := range width {
		w.registers[in.d][i] = a[i^int(w.registers[in.b][i]&31)]
	}
}
