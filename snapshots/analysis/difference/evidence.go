package difference

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// placeOf returns where the allocations of a common stack and note are compared.
func (m *Merged) placeOf(stack trace.StackID, note trace.NoteID) place {
	role := m.common.String(m.common.Notes[note].Role)
	cast := m.means[stack]&casting != 0 || role == "autocast weight" || role == "cast output" // of our own engine
	if stack <= trace.EmptyStack {
		return place{held: stack == 0, cast: cast}
	}
	return place{line: m.lines[stack], cast: cast}
}

// typeOf returns the element type of a block, 0 or empty where no writer noted it.
func (d *Difference) typeOf(b *block) trace.StringID { return d.Merged.common.Notes[b.note].DType }

// means are the techniques of a program that change its memory, as far as its
// stacks show them.
type means uint8

const (
	casting means = 1 << iota // the stack's own memory is such a copy
	autocast
	backward
	checkpoint
)

// tellers are parts of the names of functions that tell the means: of the copies that
// autocast makes, of the engine that runs a graph backward, and of what our own engine
// runs again in backward. Copies that gradients go back through are none: the gradient
// of a parameter is such a copy, and takes the place of another.
var tellers = [...]string{"autocast::cached_cast", "at::autocast::", "autograd::Engine::", "autograd.(*checkpoint)."}

func meansOf(file, name string) (found means) {
	for bit, text := range tellers {
		if strings.Contains(name, text) {
			found |= 1 << bit
		}
	}
	if strings.HasSuffix(lines.Slashed(file), "torch/utils/checkpoint.py") {
		found |= checkpoint
	}
	return found
}

// judge looks at each common stack once: many allocations may share a deep one.
func (m *Merged) judge() {
	frames := make([]means, len(m.common.Frames))
	for id, f := range m.common.Frames {
		frames[id] = meansOf(m.common.String(f.File), m.common.String(f.Name))
	}
	m.lines, m.means = make([]trace.FrameID, m.common.StackCount()), make([]means, m.common.StackCount())
	for id := trace.EmptyStack + 1; int(id) < len(m.lines); id++ {
		m.lines[id] = m.code.Line(id)
		for _, frame := range m.common.Stack(id) {
			m.means[id] |= frames[frame]
		}
	}
}

// meansOf looks at the stacks of all allocations of a side.
func (d *Difference) meansOf(side int) (found means) {
	events := d.Sides[side].Index.Device().Events
	for _, e := range events.Range(0, events.Len()) {
		found |= d.Merged.means[d.Merged.stacks[side][e.Stack]]
	}
	for i := range d.blocks[side] {
		found |= d.Merged.means[d.blocks[side][i].stack]
	}
	return found
}

// lineName names the line that memory is from. The line is 0 if it was not
// recorded.
func (m *Merged) lineName(line trace.FrameID, held bool) string {
	switch {
	case held:
		return lines.HeldBefore
	case line == 0:
		return lines.NoStack
	}
	return m.code.FrameLabel(line)
}
