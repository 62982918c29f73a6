package category

import (
	"math/bits"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// judgeHeld judges allocations from before recording: by their own stack if it is
// known, else by the stack that frees them, and by their size if they are never
// freed.
func (j *Judge) judgeHeld() {
	before := j.held
	j.findMoved(j.life.Held)
	j.held = make([]Rule, len(j.life.Held))
	var alike, never []int
	ends := j.events.Len()-j.last > manyBorn // many frees and nothing else are the end of a program
	for k := range j.life.Held {
		h := &j.life.Held[k]
		switch {
		case j.noted[h.Note]:
			j.held[k] = noted
		case h.FreeStack:
			j.held[k] = j.byFree(h)
		default:
			j.held[k] = j.byStack(h)
		}
		switch {
		case j.held[k] == heldUnknown && (h.Close == trace.Never || ends && int(h.Close) > j.last):
			never = append(never, k)
		case j.held[k] == heldUnknown:
			alike = append(alike, k)
		}
	}
	j.judgeAlike(alike)
	j.judgeReplaced(never)
	never = j.judgeGrowing(never)
	if !j.anyNoted { // a writer that notes categories knows the weights: what it did not note is something else
		j.judgeCopies(never)
	}
	if !slices.Equal(before, j.held) {
		j.generation++
	}
}

// byStack judges by where a block was made, which survives the end of a recording.
func (j *Judge) byStack(h *trace.Held) Rule {
	s := &j.stacks[h.Stack]
	switch m := s.maker; {
	case m == noMaker:
		return heldUnknown
	case m == unknownMaker:
		return NoRule
	case m == backwardMaker, m != bucketMaker && s.backs:
		return outlivesBackward
	case m == forwardMaker, m == operationMaker:
		if j.trains() {
			return heldResult
		}
		return heldOutput
	default:
		return j.first(h.Stack)
	}
}

// byFree judges by where a block is freed.
func (j *Judge) byFree(h *trace.Held) Rule {
	switch j.freerAt(j.events.At(int(h.Close)), 0) {
	case stepFreer:
		return heldMoment
	case zeroFreer:
		return freedByZeroGrad
	case engineFreer:
		return heldResult
	default:
		return heldUnknown
	}
}

// trains reports whether something in the trace is a backward pass or an update.
func (j *Judge) trains() bool {
	for id := 1; id < len(j.stacks); id++ {
		if m := j.makerOf(trace.StackID(id)); m == backwardMaker || m == gradientMaker || m == stepMaker || m == stateMaker {
			return true
		}
	}
	return false
}

// judgeAlike judges blocks that the program's loop frees by what the trace makes of
// the same size: a batch, logits or a loss that a name held on to. What the trace
// makes none of is a result, where there is a model that gives one.
func (j *Judge) judgeAlike(held []int) {
	if len(held) == 0 {
		return
	}
	made := make(map[int64]*[ruleCount]int32)
	for _, k := range held {
		made[j.life.Held[k].Size] = new([ruleCount]int32)
	}
	for i, e := range j.events.Range(0, j.events.Len()) {
		if counts := made[e.Size]; e.Kind == trace.Alloc && counts != nil {
			counts[j.rules[i]]++
		}
	}
	for _, k := range held {
		most, n := NoRule, int32(0)
		for r, count := range made[j.life.Held[k].Size] {
			if count > n && table[r].strength > Unknown {
				most, n = Rule(r), count
			}
		}
		switch table[most].category {
		case trace.Input:
			j.held[k] = heldBatch
		case trace.Activation, trace.BackwardTemporary:
			j.held[k] = likeActivation
		case trace.Inference:
			j.held[k] = heldOutput
		case trace.OtherCategory:
		default:
			j.held[k] = most
		}
	}
}

// judgeGrowing judges blocks of sizes of which the trace makes more and more, and returns
// the others: what it makes and keeps in three of its eighths, it kept before too.
func (j *Judge) judgeGrowing(held []int) (others []int) {
	const parts, fewest = 8, 3
	type kept struct {
		rule Rule
		in   uint8 // parts of the trace
	}
	sizes := make(map[int64]kept)
	for _, k := range held {
		sizes[j.life.Held[k].Size] = kept{}
	}
	for i := range j.events.Len() {
		e := j.events.At(i)
		if e.Kind != trace.Alloc || j.life.Closed(i) != trace.Never {
			continue
		}
		k, is := sizes[e.Size]
		if !is || j.gradients[e.Size] > 0 {
			continue
		}
		switch rule := j.rules[i]; rule {
		case graphKept, graphUnused, graphOpen, noGraph, noGradMade, resultKept, cacheMade:
			sizes[e.Size] = kept{rule, k.in | 1<<(i*parts/j.events.Len())}
		default: // weights and state come in all of their copies at once
		}
	}
	return slices.DeleteFunc(held, func(k int) bool {
		size := sizes[j.life.Held[k].Size]
		if bits.OnesCount8(size.in) < fewest {
			return false
		}
		j.held[k] = size.rule
		return true
	})
}
