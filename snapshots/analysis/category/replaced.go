package category

import (
	"maps"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// findReplacements finds the stacks that make parameters: if a parameter is freed in the
// step, or on any line that makes one of its size, the allocation right before is its
// successor.
func (p *panel) findReplacements() {
	p.replaces = make([]bool, len(p.stacks))
	for k := range p.ended {
		h := &p.ended[k]
		if !h.FreeStack && p.stacks[h.Stack].maker.builds() && h.Close != trace.Never {
			p.succeed(int(h.Close), h.Size, h.Stack)
		}
	}
	for first, more := true, p.built || slices.Contains(p.replaces, true); more; first = false {
		before := slices.Clone(p.replaces)
		for i, e := range p.events.Range(0, p.events.Len()) {
			if end := p.life.Closed(i); e.Kind == trace.Alloc && end != trace.Never && (first && p.stacks[e.Stack].maker.builds() || before[e.Stack]) {
				p.succeed(end, e.Size, e.Stack)
			}
		}
		more = !slices.Equal(before, p.replaces)
	}
}

// succeed looks for the successor of a parameter that event at frees. It may itself
// be replaced in the same step.
func (p *panel) succeed(at int, size int64, made trace.StackID) {
	const reach = 64
	freed := p.events.At(at)
	inStep := p.freerAt(freed, made) == stepFreer
	for i := at - 1; i >= max(0, at-reach); i-- {
		e := p.events.At(i)
		if e.Kind != trace.Alloc || e.Size != size || p.life.Closed(i) <= at {
			continue
		}
		if inStep && p.stacks[e.Stack].maker == stepMaker || p.stacks[freed.Stack].line != 0 && p.stacks[freed.Stack].line == p.stacks[e.Stack].line {
			p.replaces[e.Stack] = true
			return
		}
	}
}

// judgeReplaced finds the weights among what the step frees, where none are among what is
// never freed: the program replaces them, as it does its state. One line frees one of each.
func (j *Judge) judgeReplaced(never []int) {
	lines := make(map[trace.FrameID]multiset)
	for k, rule := range j.held {
		if line := j.freeLine(k); rule == heldMoment {
			if lines[line] == nil {
				lines[line] = make(multiset)
			}
			lines[line][j.life.Held[k].Size]++
		}
	}
	if len(lines) == 0 {
		return
	}
	weights, stay := make(multiset), make(multiset)
	for _, k := range never {
		stay[j.life.Held[k].Size]++
	}
	var lost, total int64
	for bytes, count := range j.gradients {
		weights[bytes] = int64(count)
		total += bytes * weights[bytes]
		lost += bytes * max(0, weights[bytes]-stay[bytes])
	}
	if lost*10 < total*9 || total == 0 {
		return
	}
	last := trace.FrameID(0)
	for line, freed := range lines {
		if maps.Equal(freed, weights) && (last == 0 || j.tables.Frames[line].Line > j.tables.Frames[last].Line) {
			last = line
		}
	}
	for k, rule := range j.held {
		if last != 0 && rule == heldMoment && j.freeLine(k) == last {
			j.held[k] = replacedInStep
		}
	}
}

// freeLine returns the line that frees what was held, 0 if none does.
func (j *Judge) freeLine(k int) trace.FrameID {
	if h := &j.life.Held[k]; h.Close != trace.Never {
		return j.stacks[j.events.At(int(h.Close)).Stack].line
	}
	return 0
}
