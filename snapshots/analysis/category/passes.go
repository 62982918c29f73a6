package category

import (
	"runtime"
	"slices"
	"sort"
	"sync"

	"github.com/memtop/memtop/snapshots/trace"
)

// phase is the part of a training step that the program is in.
type phase uint8

const (
	outside phase = iota
	forward
	backward
	stepping
)

// span is a run of allocations of one phase. In the forward phase, a span is one
// call of the model.
type span struct {
	first, last int32 // events of its first and last allocation
	phase       phase
	root        trace.FrameID
	graph       bool
	noGrad      bool
	calls       bool // a module is called
	follows     bool // one was, since the last backward pass
	prepares    bool // a batch, if it is there at the event until
	until       int32
	leads       bool  // only forward, with a graph, lies between it and a backward pass
	born        int32 // forward allocations
	backed      int32 // of them, freed by backward
	stay        int32 // of them, not freed by the call itself
	sites       int32 // stacks of those within modules: what the program makes itself, names may hold
	used        int32 // of stay, there when the next backward pass begins
}

// unused reports whether a call made a graph for no backward pass: most of what it left is gone before the next
// one begins, or none comes.
func (s *span) unused() bool { return s.graph && s.calls && s.used*2 < s.stay }

// cut is a trace in spans.
type cut struct {
	*Judge
	spans  []span
	bare   map[trace.FrameID]bool // lines of forward functions that make no graph where the others do
	broken bool                   // something outside of the model was made since
	built  bool                   // something in the trace makes parameters
	apart  []int32                // allocations of builders, of scripts and of what no frame explains
	// buckets are allocations of DistributedDataParallel's.
	buckets []int32
	ooms    []int // the events at which memory ran out
}

// newCut walks over the allocations once and cuts them into spans. It needs no lifetimes.
func newCut(j *Judge) *cut {
	c := &cut{Judge: j, spans: []span{{first: -1, last: -1}}, bare: make(map[trace.FrameID]bool)}
	for i, e := range j.events.Range(0, j.events.Len()) {
		switch e.Kind {
		case trace.Alloc:
			c.add(i, e)
		case trace.OOM:
			c.ooms = append(c.ooms, i)
		default: // no memory is asked for
		}
	}
	return c
}

func (c *cut) add(i int, e *trace.Event) {
	s := &c.stacks[e.Stack]
	m := c.makerOf(e.Stack)
	now := &c.spans[len(c.spans)-1]
	switch {
	case m == bucketMaker:
		c.buckets = append(c.buckets, int32(i))
	case s.backs:
		m = backwardMaker
	case m == collectMaker && s.root != 0:
		m = forwardMaker // a module gathers its input
	}
	switch updates := s.noGrad && (m == operationMaker || m == unknownMaker || m == scriptMaker); {
	case updates && (now.phase == stepping || now.phase == backward):
		m = stepMaker // by hand, right after backward
	case m == operationMaker:
		c.apart = append(c.apart, int32(i))
	}
	switch m {
	case forwardMaker, operationMaker:
		if now.phase != forward || now.root != s.root || c.broken {
			now = c.begin(i, forward)
			now.root, now.noGrad = s.root, s.noGrad
		}
		now.calls = now.calls || m == forwardMaker
	case backwardMaker, gradientMaker, recomputeMaker:
		if now.phase != backward {
			now = c.begin(i, backward)
		}
	case stepMaker, stateMaker:
		if now.phase != stepping {
			now = c.begin(i, stepping)
		}
	default:
		within := now.phase == forward && s.root != 0 && s.root == now.root
		c.broken, c.built = c.broken || !within, c.built || m.builds()
		if m.builds() || m == scriptMaker || m == unknownMaker {
			c.apart = append(c.apart, int32(i))
		}
		return
	}
	c.broken = false
	now.last = int32(i)
}

func (c *cut) begin(i int, p phase) *span {
	c.spans = append(c.spans, span{first: int32(i), last: int32(i), phase: p})
	return &c.spans[len(c.spans)-1]
}

// makerOf is the stack's maker. In files with stacks of Python only, the engine's
// thread has none.
func (j *Judge) makerOf(id trace.StackID) maker {
	m := j.stacks[id].maker
	if m == noMaker && j.silentEngine {
		return backwardMaker
	}
	return m
}

// freerAt returns the kind of code that frees, by the event that closes an
// allocation with the stack made. It is not known if the file repeats the stack
// of the allocation there.
func (j *Judge) freerAt(e *trace.Event, made trace.StackID) freer {
	if !e.Kind.Closes() || e.Stack == made && j.echoed {
		return unknownFreer
	}
	if j.stacks[e.Stack].maker == noMaker {
		if j.silentEngine {
			return engineFreer
		}
		return unknownFreer
	}
	return j.stacks[e.Stack].freer
}

// findGraphs decides for each call of the model whether a graph was made of it:
// backward frees some of what it made (a loop may make a thousand times as much that
// lives for a moment), or much of it stays, from the same places
// again and again as layers have it.
func (c *cut) findGraphs() {
	c.count()
	trains := c.trains()
	roots := make(map[trace.FrameID]bool)
	for k := range c.spans {
		s := &c.spans[k]
		if s.phase != forward {
			continue
		}
		layers := s.sites > 1 && s.stay >= 2*s.sites && s.stay*4 >= s.born && s.born >= manyBorn
		kept := s.sites > 1 && s.stay*2 >= s.born && (trains || s.born >= manyBorn)
		s.graph = s.feeds() || s.calls && !s.noGrad && (layers || kept)
		if s.graph && s.backed > 0 && !roots[s.root] {
			roots[s.root] = true
			c.findBare(s)
		}
	}
	c.inherit(roots)
}

// findBare finds the lines of the forward function that make no graph in a call that has one: of what
// they make, the call itself frees most, and backward hardly any.
func (c *cut) findBare(call *span) {
	lines := make(map[trace.FrameID]*span)
	c.eachIn(int(call.first), int(call.last)+1, func(i int, e *trace.Event, _ int) {
		line := c.stacks[e.Stack].part
		if line == 0 {
			return
		}
		if lines[line] == nil {
			lines[line] = new(span)
		}
		lines[line].take(c.freer(i), c.freer(i) != forwardFreer)
	})
	for line, s := range lines {
		c.bare[line] = s.born >= manyBorn && s.stay*2 < s.born && !s.feeds()
	}
}

// feeds reports whether backward frees some of what a call made.
func (s *span) feeds() bool { return s.backed*50 > s.born || s.backed >= manyBorn }

// take counts an allocation.
func (s *span) take(by freer, stays bool) {
	s.born++
	if by == engineFreer {
		s.backed++
	}
	if stays {
		s.stay++
	}
}

// infers reports whether a call frees most of what it makes, and backward nothing of it.
func (s *span) infers() bool { return s.born >= manyBorn && s.stay*2 < s.born && s.backed == 0 }

// manyBorn is how many allocations of a call say something about it.
const manyBorn = 8

// inherit finds the graphs of spans that do not show one themselves: a loss
// belongs to the model's call before it, and the trace may end within the last
// call.
func (c *cut) inherit(roots map[trace.FrameID]bool) {
	graph := false
	c.leadToBackward()
	defer c.leadToModule()
	for k := range c.spans {
		s := &c.spans[k]
		switch {
		case s.phase != forward:
			graph = false
			continue
		case !s.graph && graph && s.leads && !(s.calls && s.infers()):
			s.graph = true
		case !s.graph && k == len(c.spans)-1:
			s.graph = roots[s.root]
		}
		graph = s.graph
	}
}

// leadToBackward marks the spans of forward that a backward pass follows.
func (c *cut) leadToBackward() {
	leads := false
	for k := len(c.spans) - 1; k >= 0; k-- {
		s := &c.spans[k]
		leads = s.phase == backward || s.phase == forward && !s.noGrad && leads
		s.leads = leads
	}
}

// leadToModule marks the spans of forward that prepare a batch: those before the first
// call of a module, and those after calls without a graph, of what is there in a call with one.
func (c *cut) leadToModule() {
	first, called := 0, false
	for k := range c.spans {
		s := &c.spans[k]
		called = s.phase == forward && (called || s.calls)
		s.follows = called
		switch {
		case s.phase != forward:
			first = k + 1
			continue
		case !s.calls:
			continue
		}
		for at := first; at < k; at++ {
			if before := &c.spans[at]; !before.calls && !before.prepares {
				before.prepares, before.until = true, s.first
			}
		}
		if s.graph {
			first = len(c.spans)
		}
	}
}

// count counts, for each call, its allocations, those that backward frees, those
// that outlive the call, and the stacks of the latter. It stores the freer of
// each allocation in the place of its rule, so that events far apart are looked
// up only once.
func (c *cut) count() {
	next := c.nextBackward()
	c.shared(func() visitor {
		seen := make([]int32, len(c.stacks))
		return func(i int, e *trace.Event, at int) {
			by := c.freedIn(i)
			c.rules[i] = Rule(by)
			s := &c.spans[at]
			m := c.makerOf(e.Stack)
			if s.phase != forward || m != forwardMaker && m != operationMaker || (c.stacks[e.Stack].cast || c.stacks[e.Stack].noGrad && !s.noGrad) && by != engineFreer {
				return // what autocast keeps, or what is made without a graph in between, says nothing about one
			}
			stays := by != forwardFreer || c.life.Closed(i) >= c.after(at)
			s.take(by, stays)
			if !stays {
				return
			}
			if c.life.Closed(i) > next[at] {
				s.used++
			}
			if m == forwardMaker && seen[e.Stack] != int32(at+1) {
				seen[e.Stack] = int32(at + 1)
				s.sites++
			}
		}
	})
}

// nextBackward returns for each span the first event of the backward pass after it. What is there when
// memory runs out might have come to one.
func (c *cut) nextBackward() []int {
	next, at, ooms := make([]int, len(c.spans)), trace.Never, c.ooms
	for k := range slices.Backward(c.spans) {
		for ; len(ooms) > 0 && ooms[len(ooms)-1] > int(c.spans[k].first); ooms = ooms[:len(ooms)-1] {
			at = ooms[len(ooms)-1]
		}
		if next[k] = at; c.spans[k].phase == backward {
			at = int(c.spans[k].first)
		}
	}
	return next
}

// after returns the first event after a span. For the last span, it is the event
// at which memory ran out, or the end of the trace.
func (c *cut) after(at int) int {
	if at+1 < len(c.spans) {
		return int(c.spans[at+1].first)
	}
	if len(c.ooms) > 0 {
		return c.ooms[len(c.ooms)-1]
	}
	return trace.Never
}

// visitor is called with allocations and their spans.
type visitor func(i int, e *trace.Event, at int)

// shared visits every allocation, on several goroutines. Each goroutine has its
// own visitor, and each span has one visitor. So a visitor may write only data of
// its allocation and the counts of its span.
func (c *cut) shared(newVisitor func() visitor) {
	bounds := c.bounds()
	var all sync.WaitGroup
	for k := range len(bounds) - 2 {
		all.Go(func() { c.eachIn(bounds[k], bounds[k+1], newVisitor()) })
	}
	c.eachIn(bounds[len(bounds)-2], bounds[len(bounds)-1], newVisitor())
	all.Wait()
}

// bounds divides the events at the beginnings of spans.
func (c *cut) bounds() []int {
	const most = 4
	n, parts := c.events.Len(), min(runtime.GOMAXPROCS(0), most)
	if n < small {
		parts = 1
	}
	bounds := []int{0}
	for k := 1; k < parts; k++ {
		at := sort.Search(len(c.spans), func(s int) bool { return int(c.spans[s].first) >= n/parts*k })
		if at < len(c.spans) {
			bounds = append(bounds, int(c.spans[at].first))
		}
	}
	return append(bounds, n)
}

// eachIn calls visit with every allocation in [from, to) and its span.
func (c *cut) eachIn(from, to int, visit visitor) {
	at := c.spanOf(from)
	for i, e := range c.events.Range(from, to) {
		if e.Kind != trace.Alloc {
			continue
		}
		for at+1 < len(c.spans) && int(c.spans[at+1].first) <= i {
			at++
		}
		visit(i, e, at)
	}
}

// freer returns what count found.
func (c *cut) freer(i int) freer { return freer(c.rules[i]) }

// freedIn returns the kind of code that freed the event's allocation. If the
// stack of the free does not say it, the phase of the free does.
func (c *cut) freedIn(i int) freer {
	end := c.life.Closed(i)
	if end == trace.Never {
		return unknownFreer
	}
	if by := c.freerAt(c.events.At(end), c.events.At(i).Stack); by != unknownFreer {
		return by
	}
	s := &c.spans[c.spanOf(end)]
	switch {
	case end > int(s.last):
		return unknownFreer
	case s.phase == backward:
		return engineFreer
	case s.phase == stepping:
		return stepFreer
	case s.phase == forward:
		return forwardFreer
	default:
		return unknownFreer
	}
}

// spanOf returns the last span that begins before an event, or with it.
func (c *cut) spanOf(event int) int {
	return sort.Search(len(c.spans), func(k int) bool { return int(c.spans[k].first) > event }) - 1
}

// longestBackward returns the first and last event of the longest backward pass.
func (c *cut) longestBackward() [2]int {
	found := [2]int{0, -1}
	for k := range c.spans {
		if s := &c.spans[k]; s.phase == backward && int(s.last-s.first) > found[1]-found[0] {
			found = [2]int{int(s.first), int(s.last)}
		}
	}
	return found
}
