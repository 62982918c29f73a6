package difference

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// placeOf returns where the allocations of a common stack and note are compared.
func (d *Difference) placeOf(stack trace.StackID, note trace.NoteID) place {
	m := d.Merged
	cast := isCastRole(m.common.String(m.common.Notes[note].Role))
	if stack <= trace.EmptyStack {
		return place{held: stack == 0, cast: cast}
	}
	return place{line: m.code.Line(stack), cast: cast || m.has(stack, isCast)}
}

// isCastRole knows the copies of our own engine's mixed precision by what it notes.
func isCastRole(role string) bool { return role == "autocast weight" || role == "cast output" }

// typeOf returns the element type of a block, 0 or empty where no writer noted it.
func (d *Difference) typeOf(b *block) trace.StringID { return d.Merged.common.Notes[b.note].DType }

// has reports whether a frame of a common stack is of some kind.
func (m *Merged) has(stack trace.StackID, is func(file, name string) bool) bool {
	for _, id := range m.common.Stack(stack) {
		f := m.common.Frames[id]
		if is(m.common.String(f.File), m.common.String(f.Name)) {
			return true
		}
	}
	return false
}

// means are the techniques of a program that change its memory, as far as its
// stacks show them.
type means struct{ autocast, checkpoint, backward bool }

// meansOf looks at the stacks of all allocations of a side.
func (d *Difference) meansOf(side int) means {
	var found means
	events := d.Sides[side].Index.Device().Events
	seen := make([]bool, d.Merged.common.StackCount())
	look := func(stack trace.StackID) {
		if !seen[stack] {
			seen[stack] = true
			found.autocast = found.autocast || d.Merged.has(stack, isAutocast)
			found.backward = found.backward || d.Merged.has(stack, isBackward)
			found.checkpoint = found.checkpoint || d.Merged.has(stack, isCheckpoint)
		}
	}
	for i := 0; i < events.Len(); {
		span := events.Span(i)
		for j := range span {
			look(d.Merged.stacks[side][span[j].Stack])
		}
		i += len(span)
	}
	for i := range d.blocks[side] {
		look(d.blocks[side][i].stack)
	}
	return found
}

// isCast knows the copies that autocast makes. Those that gradients go back through are
// none: the gradient of a parameter is such a copy, and takes the place of another.
func isCast(_, name string) bool { return strings.Contains(name, "autocast::cached_cast") }

func isAutocast(_, name string) bool { return strings.Contains(name, "at::autocast::") }

// isBackward recognises the engine that runs a graph backward.
func isBackward(_, name string) bool { return strings.Contains(name, "autograd::Engine::") }

// isCheckpoint knows what runs a part of the program without keeping what it makes, and
// again in backward: PyTorch's, and our own engine's.
func isCheckpoint(file, name string) bool {
	return strings.HasSuffix(lines.Slashed(file), "torch/utils/checkpoint.py") || strings.Contains(name, "autograd.(*checkpoint).")
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
