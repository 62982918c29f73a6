package category

import "github.com/memtop/memtop/snapshots/trace"

// growth follows the sizes that one stack makes. Without a graph, a cache of keys and
// values that a program keeps itself is made again for each token, in every layer, a
// little larger each time.
type growth struct {
	bytes      int64 // of what it makes now
	by         int64 // how much larger that is than before
	made       int32 // of these bytes
	layers     int32 // of the bytes before
	turns      int32 // in a row in which it grew by as much
	whole      bool  // it grew often enough, for all that it made since
	each       int64 // then: by how much
	everyLayer int32
}

// enough is in how many turns something has to grow.
const enough = 4

func (g *growth) add(bytes int64) {
	if bytes == g.bytes {
		g.made++
		return
	}
	by := bytes - g.bytes
	if by > 0 && by == g.by && (g.layers == g.made || g.turns == 0) {
		g.turns++
	} else {
		g.turns = 0
	}
	if g.turns >= enough {
		g.whole, g.each, g.everyLayer = true, by, g.made
	}
	g.bytes, g.by, g.layers, g.made = bytes, by, g.made, 1
}

// findGrown finds the stacks that make caches of keys and values: what grows by as much
// in each turn, and is there until the same layer makes the next. Where it is gone
// before, it was put together from parts that stay, each of the bytes by which it grew.
func (p *panel) findGrown() {
	grown := make(map[trace.StackID]*growth)
	p.eachGraphless(func(_ int, e *trace.Event) {
		g := grown[e.Stack]
		if g == nil {
			g = new(growth)
			grown[e.Stack] = g
		}
		g.add(e.Size)
	})
	parts := make(map[int64]int32) // by bytes, how many layers
	for _, g := range grown {
		if g.whole {
			parts[g.each] = max(parts[g.each], g.everyLayer)
		}
	}
	if len(parts) == 0 {
		return
	}
	made := make(map[trace.StackID][]int)
	p.eachGraphless(func(i int, e *trace.Event) {
		if g := grown[e.Stack]; g.whole || parts[e.Size] > 0 {
			made[e.Stack] = append(made[e.Stack], i)
		}
	})
	for stack, all := range made {
		layers := grown[stack].everyLayer
		if !grown[stack].whole {
			layers = parts[p.events.At(all[0]).Size]
		}
		p.caches[stack] = p.stays(all, int(layers))
	}
}

// stays reports whether nearly all allocations are there when as many more were made as there are layers.
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
	p.eachIn(0, p.events.Len(), func(i int, e *trace.Event, at int) {
		if s := &p.spans[at]; s.phase == forward && !s.graph && p.freer(i) != engineFreer {
			if m := p.makerOf(e.Stack); m == forwardMaker || m == operationMaker || m == unknownMaker {
				visit(i, e)
			}
		}
	})
}
