package category

import (
	"maps"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// growth follows the sizes that one stack makes. Without a graph, a cache of keys and
// values that a program keeps itself is made again for each token, in every layer, a
// little larger each time.
type growth struct {
	bytes  int64 // of what it makes now
	since  int   // the first event that made as much
	by     int64 // how much larger that is than before
	made   int   // of these bytes
	layers int   // of the bytes before
	turns  []int // events: the first of each turn in a row in which it grew by as much
	whole  bool  // it grew in enough turns, at some time
}

// enough is in how many turns something has to grow.
const enough = 4

func (g *growth) add(i int, bytes int64) {
	if bytes == g.bytes {
		g.made++
		return
	}
	by := bytes - g.bytes
	if !g.whole && (by != g.by || by < 0 || g.layers != g.made && len(g.turns) > 0) {
		g.turns = append(g.turns[:0], g.since)
	}
	g.turns, g.since = append(g.turns, i), i
	g.whole = g.whole || len(g.turns) > enough+1
	g.bytes, g.by, g.layers, g.made = bytes, by, g.made, 1
}

// grown has what was found of caches that a program keeps itself.
type grown struct {
	stacks map[trace.StackID]bool // they make a cache that grows
	parts  map[trace.StackID]bool // they make, among others, parts of one
	bytes  int64                  // of each part
	turns  []int                  // events: where a turn begins
	first  map[int]bool           // by event: it makes what a cache begins with
}

// findGrown finds caches of keys and values: what grows by as much in each turn, and is
// there until the same layer makes the next. Where it is gone before, it was put
// together from parts that stay, each of the bytes by which it grew.
func (p *panel) findGrown() {
	sizes := make(map[trace.StackID]*growth)
	p.eachGraphless(func(i int, e *trace.Event) {
		if sizes[e.Stack] == nil {
			sizes[e.Stack] = new(growth)
		}
		sizes[e.Stack].add(i, e.Size)
	})
	made := make(map[trace.StackID][]int)
	maps.DeleteFunc(sizes, func(_ trace.StackID, g *growth) bool { return !g.whole })
	if len(sizes) == 0 {
		return
	}
	p.eachGraphless(func(i int, e *trace.Event) {
		if sizes[e.Stack] != nil {
			made[e.Stack] = append(made[e.Stack], i)
		}
	})
	p.grown.stacks, p.grown.first = make(map[trace.StackID]bool), make(map[int]bool)
	for stack, all := range made {
		p.grown.stacks[stack] = p.stays(all, sizes[stack].made)
	}
	p.findParts(sizes)
	for stack := range made {
		p.findFirst(sizes[stack])
	}
}

// findFirst finds what a cache has before it first grows: in every layer, a block of many
// parts.
func (p *panel) findFirst(g *growth) {
	bySize := make(map[int64][]int)
	p.eachGraphless(func(i int, e *trace.Event) {
		if i < g.turns[0] && p.life.Closed(i) > g.turns[0] && e.Size%g.by == 0 {
			bySize[e.Size] = append(bySize[e.Size], i)
		}
	})
	for _, all := range bySize {
		for _, i := range all {
			p.grown.first[i] = p.grown.first[i] || len(all) >= g.made && g.made > 1
		}
	}
}

// findParts finds the parts of a cache that is put together in each turn.
func (p *panel) findParts(sizes map[trace.StackID]*growth) {
	p.grown.parts = make(map[trace.StackID]bool)
	p.eachGraphless(func(i int, e *trace.Event) {
		for stack, g := range sizes {
			if g.by == e.Size && !p.grown.stacks[stack] && p.staysFor(i, g.turns) {
				p.grown.parts[e.Stack], p.grown.bytes, p.grown.turns = true, g.by, g.turns
			}
		}
	})
}

// staysFor reports whether an allocation is there for a whole turn, as far as the trace
// goes.
func (p *panel) staysFor(i int, turns []int) bool {
	next, _ := slices.BinarySearch(turns, i+1)
	return next+1 < len(turns) && p.life.Closed(i) > turns[next+1]
}

// keeps reports whether an allocation is part of a cache that the program keeps.
func (p *panel) keeps(i int, e *trace.Event, at int) bool {
	switch g := &p.grown; {
	case !p.outlives(i, at):
		return false
	case g.stacks[e.Stack], g.first[i]:
		return true
	default:
		return g.parts[e.Stack] && e.Size%g.bytes == 0 && (p.life.Closed(i) == trace.Never || p.staysFor(i, g.turns))
	}
}

// stays reports whether nearly all allocations are there when as many more were made as
// there are layers.
func (p *panel) stays(made []int, layers int) bool {
	stay, all := 0, len(made)-layers
	for k := range max(0, all) {
		if p.life.Closed(made[k]) > made[k+layers] {
			stay++
		}
	}
	return all > 0 && stay*10 >= all*9
}

// eachGraphless visits what calls without a graph make.
func (p *panel) eachGraphless(visit func(i int, e *trace.Event)) {
	p.eachInPhase(forward, func(i int, e *trace.Event, at int) {
		if !p.spans[at].graph && p.freer(i) != engineFreer {
			if m := p.makerOf(e.Stack); m == forwardMaker || m == operationMaker || m == unknownMaker {
				visit(i, e)
			}
		}
	})
}

// findBlank finds the stacks that make caches of full length: many blocks of one size with
// nothing in them, outside of the model, in a program that only calls models without a
// graph. They are there through several calls.
func (p *panel) findBlank() {
	const fewest = 8
	p.blank = make(map[trace.StackID]bool)
	if p.firstBackward != trace.Never {
		return
	}
	made := make(map[trace.StackID]map[int64]int)
	for _, i := range p.apart {
		e := p.events.At(int(i))
		if s := &p.stacks[e.Stack]; !s.blank || s.maker == moveMaker || s.maker == buildMaker || e.Size < longestVector {
			continue
		}
		if made[e.Stack] == nil {
			made[e.Stack] = make(map[int64]int)
		}
		if at := p.spanOf(int(i)); at+enough < len(p.spans) && p.life.Closed(int(i)) > int(p.spans[at+enough].first) {
			made[e.Stack][e.Size]++
		}
	}
	for stack, sizes := range made {
		for _, count := range sizes {
			p.blank[stack] = p.blank[stack] || count >= fewest
		}
	}
}
