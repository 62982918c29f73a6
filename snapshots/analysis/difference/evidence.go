package difference

import (
	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/trace"
)

// placeOf returns where the allocations of a common stack and note are compared.
func (m *Merged) placeOf(stack trace.StackID, note trace.NoteID) place {
	role := m.common.String(m.common.Notes[note].Role)
	cast := m.traits[stack]&traits.Casts != 0 || role == "autocast weight" || role == "cast output" // of our own engine
	if stack <= trace.EmptyStack {
		return place{held: stack == 0, cast: cast}
	}
	return place{line: m.lines[stack], cast: cast}
}

// typeOf returns the element type of a block, 0 or empty where no writer noted it.
func (d *Difference) typeOf(b *block) trace.StringID { return d.Merged.common.Notes[b.note].DType }

// judge looks at each common stack once: many allocations may share a deep one.
func (m *Merged) judge() {
	frames := traits.Read(nil, m.common)
	m.lines, m.traits = make([]trace.FrameID, m.common.StackCount()), make([]traits.Set, m.common.StackCount())
	for id := trace.EmptyStack + 1; int(id) < len(m.lines); id++ {
		m.lines[id] = m.code.Line(id)
		for _, frame := range m.common.Stack(id) {
			m.traits[id] |= frames[frame]
		}
	}
}

// traitsOf looks at the stacks of all allocations of a side.
func (d *Difference) traitsOf(side int) (found traits.Set) {
	events := d.Sides[side].Index.Device().Events
	for _, e := range events.Range(0, events.Len()) {
		found |= d.Merged.traits[d.Merged.stacks[side][e.Stack]]
	}
	for i := range d.blocks[side] {
		found |= d.Merged.traits[d.blocks[side][i].stack]
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
