package category

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// byMaker has the rule for the allocations of each maker, if their end is not
// known.
var byMaker = [...]Rule{
	noMaker: noStack, workspaceMaker: libraryWorkspace, gradientMaker: accumulated, bufferMaker: gradientBuffer,
	bucketMaker: bucketMade, exchangeMaker: exchanged, collectMaker: collected, gatherMaker: weightsGathered, cacheMaker: cacheMade, stateMaker: optimizerState, stepMaker: outlivesStep,
	backwardMaker: backwardScratch, recomputeMaker: recomputed, inputMaker: dataLoaded,
	moveMaker: moduleMoved, buildMaker: moduleBuilt, constructorMaker: constructorMade,
	forwardMaker: graphKept, operationMaker: graphKept,
}

// judgeAll judges everything that was made within the trace.
func (j *Judge) judgeAll(c *cut) {
	j.generation++
	j.findMoved(j.ended)
	j.echoed = j.echoes()
	c.findGraphs()
	p := panel{cut: c, copied: make(map[trace.StackID]bool), next: c.nextBackward()}
	j.calls = j.calls[:0]
	for k := range p.spans {
		j.calls = append(j.calls, p.spans[k].first)
	}
	j.longest, j.firstBackward = p.longestBackward(), trace.Never
	if k := slices.IndexFunc(p.spans, func(s span) bool { return s.phase == backward }); k > 1 {
		j.firstBackward = int(p.spans[k].first)
	} else if k == 1 {
		j.firstBackward = 0 // the trace begins in a pass
	}
	p.findReplacements()
	p.findGradients()
	j.views = p.viewed()
	p.findOwn()
	if !j.steps { // else the state is noted
		p.findCopies()
	}
	p.shared(func() visitor {
		return func(i int, e *trace.Event, at int) { j.rules[i] = p.made(i, e, at) }
	})
}

// echoes reports whether the stack of a free is that of its allocation. It is if
// PyTorch recorded the context of allocations only.
func (j *Judge) echoes() bool {
	const enough = 4096
	same, looked := 0, 0
	for i := 0; i < j.events.Len() && looked < enough; i++ {
		e := j.events.At(i)
		if e.Kind != trace.Alloc || e.Stack <= trace.EmptyStack || j.life.Closed(i) == trace.Never {
			continue
		}
		looked++
		if j.events.At(j.life.Closed(i)).Stack == e.Stack {
			same++
		}
	}
	return looked > 0 && same*10 >= looked*9
}

// panel judges the allocations of a trace that was cut into spans.
type panel struct {
	*cut
	own      map[int]bool           // by event: it makes a weight that is of no module
	copied   map[trace.StackID]bool // stacks that make what has the sizes of the weights
	replaces []bool                 // by stack: what outlives the place makes parameters
	next     []int                  // by span, the first event of the backward pass after it
	left     map[int64]int          // by size, what a backward pass that is the last span made and has not freed so far
}

// made judges the allocation of event i, in span at.
func (p *panel) made(i int, e *trace.Event, at int) Rule {
	if p.isWorkspace(i, e) {
		return workspaceSize
	}
	if rule := p.program(i, e, at); rule != NoRule {
		return rule
	}
	switch m := p.makerOf(e.Stack); m {
	case forwardMaker, operationMaker:
		return p.forward(i, at)
	case backwardMaker:
		return p.backward(i, at)
	case stepMaker:
		return p.step(i, e, at)
	case unknownMaker:
		return p.unknown(i, e, at)
	case scriptMaker:
		if p.prepared(i, at) || at+1 < len(p.spans) && (p.spans[at+1].calls || !p.spans[at].follows) && p.spans[at+1].phase == forward && p.life.Closed(i) > int(p.spans[at+1].last) {
			return scriptMade
		}
		return p.unknown(i, e, at)
	case exchangeMaker, collectMaker:
		return p.communicated(i, e, at)
	case inputMaker:
		return dataLoaded
	case constructorMaker:
		if p.moves && p.gradients[e.Size] == 0 {
			return NoRule // no weight: those of a model that is moved come with it, others have gradients
		}
		return constructorMade
	default:
		return p.first(e.Stack)
	}
}

// prepared reports whether an allocation in a span that prepares a batch is there in the call that it prepares.
func (p *panel) prepared(i, at int) bool {
	s := &p.spans[at]
	return s.prepares && p.life.Closed(i) > int(s.until)
}

// program judges what a program's own code makes, of which the place says nothing.
func (p *panel) program(i int, e *trace.Event, at int) Rule {
	switch m := p.makerOf(e.Stack); {
	case m == moveMaker || m == buildMaker || m.strong():
		return NoRule
	case p.own[i]:
		return ownWeight
	case p.replaces[e.Stack] && p.outlives(i, at):
		return replacedInStep
	case m == forwardMaker:
		return NoRule
	case p.freer(i) == zeroFreer:
		return freedByZeroGrad
	case p.copied[e.Stack]:
		return weightsCopied
	case m != constructorMaker && p.spans[at].phase == stepping && p.stacks[e.Stack].noGrad && p.gradients[e.Size] > 0:
		return p.step(i, e, at)
	default:
		return NoRule
	}
}

// outlives reports whether an allocation is there after its span.
func (p *panel) outlives(i, at int) bool {
	end := p.life.Closed(i)
	return end == trace.Never || at+1 < len(p.spans) && end >= int(p.spans[at+1].first)
}

func (p *panel) forward(i, at int) Rule {
	s, by, of := &p.spans[at], p.freer(i), &p.stacks[p.events.At(i).Stack]
	switch {
	case by == engineFreer:
		return freedByEngine
	case p.prepared(i, at):
		return scriptMade
	case !s.follows && s.backed == 0:
		return NoRule // operations of the program, of which neither a module nor backward knows
	case of.noGrad && !(s.noGrad && s.graph):
		return noGradMade
	case s.phase == forward && s.unused():
		return graphUnused
	case s.phase == forward && s.graph && !p.bare[of.part]:
		if !s.leads {
			return graphOpen
		}
		return graphKept
	case p.life.Closed(i) == trace.Never:
		return resultKept
	default:
		return noGraph
	}
}

// backward separates gradients of parameters from memory that is freed before the
// pass ends.
func (p *panel) backward(i, at int) Rule {
	end := p.life.Closed(i)
	in := p.spanOf(end)
	switch by := p.freer(i); {
	case by == engineFreer && in > at && p.spans[in].phase == backward && end <= int(p.spans[in].last):
		return freedByEngine // in a later backward pass: this one has a graph itself
	case by == engineFreer && (at+1 == len(p.spans) || end <= int(p.spans[at+1].last)), end <= int(p.spans[at].last):
		return backwardScratch
	case by == zeroFreer:
		return freedByZeroGrad
	case by == otherFreer, by == stepFreer, by == engineFreer, at+1 < len(p.spans) && end >= int(p.spans[at+1].first):
		return outlivesBackward
	case at+1 < len(p.spans), end != trace.Never:
		return backwardScratch
	default:
		return p.unfinished(i)
	}
}

// unfinished judges what the last pass made, if nothing freed it: the recording may
// end within the pass. It is a gradient if it is older than anything that the pass
// freed became, if there were as many gradients of its size before, or if the pass freed
// what forward had kept and so is whole.
func (p *panel) unfinished(i int) Rule {
	size := p.events.At(i).Size
	p.left[size]++
	if p.left[size] <= p.gradients[size] {
		return outlivesBackward
	}
	return backwardOpen
}

// step separates state and parameters from temporary memory of the update.
func (p *panel) step(i int, e *trace.Event, at int) Rule {
	if !p.outlives(i, at) {
		return dropsInStep
	}
	if p.replaces[e.Stack] {
		return replacedInStep
	}
	return outlivesStep
}

// unknown judges an allocation that no frame explains, by its life within a forward
// pass. One that outlives the pass may be a batch, and anything else as well.
func (p *panel) unknown(i int, e *trace.Event, at int) Rule {
	s := &p.spans[at]
	switch {
	case p.freer(i) == engineFreer:
		return freedByEngine
	case s.phase == forward && s.graph && s.leads:
		return graphKept
	case s.phase == forward && at+1 < len(p.spans) && p.life.Closed(i) < int(p.spans[at+1].first):
		return noGraph
	default:
		return NoRule
	}
}
