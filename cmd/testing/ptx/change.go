package ptx

import "strings"

// Change is a way to spoil an instruction, for tests of tests.
type Change int

// The changes.
const (
	// Remove makes an instruction do nothing. A branch is then never taken.
	Remove Change = iota
	// Take makes all threads take a branch.
	Take
	// Flip changes the lowest bit of what an instruction computes, and the highest of the
	// fraction of a number.
	Flip
	// Weaken makes a release or an acquire order nothing but its own word.
	Weaken
)

// Len returns the number of places of instructions; some have none.
func (p *Program) Len() int { return len(p.code) }

// At returns an instruction, and how often warps have executed it. It is false if there
// is none at the place.
func (p *Program) At(place int) (l Line, times uint32, ok bool) {
	in := &p.code[place]
	if in.written == nil {
		return Line{}, 0, false
	}
	return Line{in.written.line, in.function.name, in.written.text()}, in.times, true
}

// Change spoils the instruction at a place until undo is called. It is false if the
// instruction cannot be changed so.
func (p *Program) Change(place int, c Change) (undo func(), ok bool) {
	in := &p.code[place]
	before := *in
	switch {
	case c == Remove:
		in.lanes, in.step = nil, func(*warp, *instruction) {}
	case c == Take && in.conditional:
		in.conditional = false
	case c == Weaken && (in.access.release || in.access.acquire):
		in.access.release, in.access.acquire = false, false
	case c == Flip && in.lanes != nil:
		flip := uint64(1 | 1<<22 | 1<<51)
		if strings.HasPrefix(in.written.opcode, "setp") || strings.HasSuffix(in.written.opcode, ".pred") {
			flip = 1
		}
		right := in.lanes
		in.lanes = func(d, a, b, c *lanes) {
			right(d, a, b, c)
			for i := range d {
				d[i] ^= flip
			}
		}
	default:
		return nil, false
	}
	return func() {
		times := in.times
		*in = before
		in.times = times
	}, true
}
