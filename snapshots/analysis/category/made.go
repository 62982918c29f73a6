package category

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// byMaker has the rule for the allocations of each maker, if their end is not
// known.
var byMaker = [...]Rule{
	noMaker: noStack, workspaceMaker: libraryWorkspace, gradientMaker: accumulated, bufferMaker: gradientBuffer,
	gatherMaker: weightsGathered, cacheMaker: cacheMade, stateMaker: optimizerState, stepMaker: outlivesStep,
	backwardMaker: backwardScratch, recomputeMaker: recomputed, inputMaker: dataLoaded, scriptMaker: scriptMade,
	moveMaker: moduleMoved, buildMaker: moduleBuilt, constructorMaker: constructorMade,
	forwardMaker: graphKept, operationMaker: graphKept,
}

// judgeAll judges everything that was made within the trace.
func (j *Judge) judgeAll() {
	j.generation++
	j.findMoved(j.ended)
	j.echoed = j.echoes()
	p := panel{cut: newCut(j), copies: make(map[trace.StackID]Rule)}
	j.longest, j.firstBackward = p.longestBackward(), trace.Never
	if k := slices.IndexFunc(p.spans, func(s span) bool { return s.phase == backward }); k > 1 {
		j.firstBackward = int(p.spans[k].first)
	} else if k == 1 {
		j.firstBackward = 0 // the trace begins in a pass
	}
	p.findReplacements()
	p.readLastBackward()
	p.findGradients()
	p.findOwn()
	p.findCopies()
	p.findGrown()
	p.findBlank()
	p.countWorkspaces()
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
	copies   map[trace.StackID]Rule // of stacks that make what has the sizes of the weights
	grown    grown
	blank    map[trace.StackID]bool // they make a cache of full length
	replaces []bool                 // by stack: what outlives the place makes parameters
	// Of a backward pass that is the last span: the longest life, in events, of what
	// it made and freed, and whether it came to its end.
	longestScratch int
	whole          bool
	left           map[int64]int // by size, what it made and has not freed so far
	workspaces     int           // allocations of the size of Hopper's that stay
}

// made judges the allocation of event i, in span at.
func (p *panel) made(i int, e *trace.Event, at int) Rule {
	s := &p.spans[at]
	if p.isWorkspace(i, e, at) {
		return workspaceSize
	}
	if p.isProductScratch(i, e) {
		return workspacePasses
	}
	if rule := p.program(i, e, at); rule != NoRule {
		return rule
	}
	switch m := p.makerOf(e.Stack); m {
	case forwardMaker, operationMaker:
		return p.forward(i, s)
	case backwardMaker:
		return p.backward(i, at)
	case stepMaker:
		return p.step(i, e, at)
	case unknownMaker:
		return p.unknown(i, e, at)
	case inputMaker, scriptMaker:
		switch {
		case m == scriptMaker && p.convertsResult(i, e):
			return p.forward(i, s)
		default:
			return byMaker[m]
		}
	case constructorMaker:
		if p.isData(e) {
			return NoRule
		}
		return constructorMade
	default:
		return p.first(e.Stack)
	}
}

// convertsResult reports whether a copy is that of a result in another width: the model
// made one of twice or half the bytes right before.
func (p *panel) convertsResult(i int, e *trace.Event) bool {
	const reach = 8
	for k := i - 1; k >= max(0, i-reach); k-- {
		before := p.events.At(k)
		if before.Kind == trace.Alloc && p.life.Closed(k) > i && (before.Size == 2*e.Size || 2*before.Size == e.Size) {
			m := p.makerOf(before.Stack)
			return m == forwardMaker || m == operationMaker
		}
	}
	return false
}

// isData reports whether a constructor makes something that is no weight where others are
// trained: it has no gradient, and is larger than whatever has one.
func (p *panel) isData(e *trace.Event) bool {
	return p.largest > 0 && p.gradients[e.Size] == 0 && e.Size > p.largest
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
	case p.keeps(i, e, at):
		return cacheGrown
	case m == forwardMaker:
		return NoRule
	case p.freer(i) == zeroFreer:
		return freedByZeroGrad
	case p.copies[e.Stack] != NoRule:
		return p.copies[e.Stack]
	case p.blank[e.Stack] && p.outlives(i, at):
		return cacheReserved
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

func (p *panel) forward(i int, s *span) Rule {
	by := p.freer(i)
	switch {
	case by == engineFreer:
		return freedByEngine
	case s.prepares && p.life.Closed(i) > int(s.until):
		return scriptMade
	case s.phase == forward && s.graph:
		return graphKept
	case p.stacks[p.events.At(i).Stack].noGrad:
		return noGradMade
	default:
		return noGraph
	}
}

// backward separates gradients of parameters from memory that is freed before the
// pass ends.
func (p *panel) backward(i, at int) Rule {
	end := p.life.Closed(i)
	switch by := p.freer(i); {
	case by == engineFreer && p.inLaterBackward(end, at):
		return freedByEngine // of a backward pass that has a graph itself
	case by == engineFreer, end <= int(p.spans[at].last):
		return backwardScratch
	case by == zeroFreer:
		return freedByZeroGrad
	case by == otherFreer, by == stepFreer, at+1 < len(p.spans) && end >= int(p.spans[at+1].first):
		return outlivesBackward
	case at+1 < len(p.spans), end != trace.Never:
		return backwardScratch
	default:
		return p.unfinished(i)
	}
}

// inLaterBackward reports whether an event lies in a backward pass after a span.
func (p *panel) inLaterBackward(event, at int) bool {
	in := p.spanOf(event)
	return in > at && p.spans[in].phase == backward && event <= int(p.spans[in].last)
}

// unfinished judges what the last pass made, if nothing freed it: the recording may
// end within the pass. It is a gradient if it is older than anything that the pass
// freed became, if there were as many gradients of its size before, or if the pass freed
// what forward had kept and so is whole.
func (p *panel) unfinished(i int) Rule {
	size := p.events.At(i).Size
	p.left[size]++
	if p.whole || p.left[size] <= p.gradients[size] || p.longestScratch > 0 && p.events.Len()-i > p.longestScratch {
		return outlivesBackward
	}
	return backwardOpen
}

// readLastBackward looks at the last span, if it is a backward pass.
func (p *panel) readLastBackward() {
	at := len(p.spans) - 1
	if p.spans[at].phase != backward {
		return
	}
	for i := max(0, int(p.spans[at].first)); i < p.events.Len(); i++ {
		if p.events.At(i).Kind == trace.Alloc && p.freer(i) == engineFreer {
			p.longestScratch = max(p.longestScratch, p.life.Closed(i)-i)
		}
	}
	var stay, backed int32
	for at--; p.spans[at].leads; at-- {
		stay, backed = stay+p.spans[at].stay, backed+p.spans[at].backed
	}
	p.whole = stay > 0 && backed*10 >= stay*9
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

// unknown judges an allocation that no frame explains, by its life: within a
// forward pass, or across one, as a batch lives.
func (p *panel) unknown(i int, e *trace.Event, at int) Rule {
	s, next := &p.spans[at], len(p.spans) > at+1
	switch {
	case p.freer(i) == engineFreer:
		return freedByEngine
	case p.stacks[e.Stack].noGrad:
		return noGradMade
	case s.phase == forward && s.graph && s.leads:
		return graphKept
	case s.phase == forward && next && p.life.Closed(i) < int(p.spans[at+1].first):
		return noGraph
	case next && p.spans[at+1].phase == forward && p.life.Closed(i) != trace.Never && p.life.Closed(i) > int(p.spans[at+1].last):
		return acrossForward
	default:
		return NoRule
	}
}

// The sizes of libraries' workspaces, in bytes: cuBLAS's, on Hopper too, and
// cublasLt's.
const (
	blasWorkspace   = 8_519_680
	hopperWorkspace = 32 << 20
	smallWorkspace  = 1 << 20
)

// mostWorkspaces is how many cuBLAS has: one for each thread that uses it.
const mostWorkspaces = 2

func (p *panel) countWorkspaces() {
	for i := 0; !p.native && i < p.events.Len(); i++ {
		if e := p.events.At(i); e.Kind == trace.Alloc && e.Size == hopperWorkspace && p.life.Closed(i) == trace.Never {
			p.workspaces++
		}
	}
}

// isWorkspace recognises a library's workspace by its size: a thread makes it at
// its first matrix product, and it stays.
func (p *panel) isWorkspace(i int, e *trace.Event, at int) bool {
	if !isWorkspaceSize(e.Size) || p.life.Closed(i) != trace.Never {
		return false
	}
	switch p.makerOf(e.Stack) {
	case forwardMaker, operationMaker, backwardMaker, unknownMaker:
	default:
		return false
	}
	switch e.Size {
	case blasWorkspace:
		return true
	case hopperWorkspace:
		return !p.native && at+2 < len(p.spans) && p.workspaces <= mostWorkspaces
	default:
		return p.beside(i, blasWorkspace)
	}
}

// isProductScratch recognises a workspace that a library takes for one product and
// gives back: the product's result comes right before it, from the same place, and
// nothing is made while it is there. Where stacks have C++ they name it.
func (p *panel) isProductScratch(i int, e *trace.Event) bool {
	if p.native || e.Stack <= trace.EmptyStack && !p.silentEngine || !isWorkspaceSize(e.Size) {
		return false
	}
	for k := i + 1; k < min(p.life.Closed(i), p.events.Len()); k++ {
		if p.events.At(k).Kind == trace.Alloc {
			return false
		}
	}
	for k := i - 1; k >= max(0, i-8); k-- {
		if before := p.events.At(k); before.Kind == trace.Alloc {
			return before.Stack == e.Stack && p.life.Closed(k) > p.life.Closed(i)
		}
	}
	return false
}

func isWorkspaceSize(bytes int64) bool {
	return bytes == blasWorkspace || bytes == hopperWorkspace || bytes == smallWorkspace
}

// beside reports whether an allocation of a size that is never freed was made
// around event i.
func (p *panel) beside(i int, size int64) bool {
	const reach = 8
	for k := max(0, i-reach); k < min(i+reach, p.events.Len()); k++ {
		if e := p.events.At(k); e.Kind == trace.Alloc && e.Size == size && p.life.Closed(k) == trace.Never {
			return true
		}
	}
	return false
}

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
		p.eachClosed(func(i int, e *trace.Event) {
			if first && p.stacks[e.Stack].maker.builds() || before[e.Stack] {
				p.succeed(p.life.Closed(i), e.Size, e.Stack)
			}
		})
		more = !slices.Equal(before, p.replaces)
	}
}

// eachClosed calls visit with each allocation that was made and freed within the
// trace.
func (p *panel) eachClosed(visit func(i int, e *trace.Event)) {
	for i := 0; i < p.events.Len(); {
		part := p.events.Span(i)
		for k := range part {
			if part[k].Kind == trace.Alloc && p.life.Closed(i+k) != trace.Never {
				visit(i+k, &part[k])
			}
		}
		i += len(part)
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
