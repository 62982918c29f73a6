package category

import "github.com/memtop/memtop/snapshots/trace"

// sizes of weights have copies of them beside a model: an optimizer's state that the
// program makes itself, or main copies of half-precision weights.
type multiset map[int64]int64 // by size, how many there are

// isCopyOf reports whether one multiset is the other, once or a few times, each size
// scaled by the width of an element.
func (m multiset) isCopyOf(weights multiset) bool {
	const most = 3
	for _, width := range [...]struct{ times, of int64 }{{1, 1}, {2, 1}, {1, 2}, {1, 4}} {
		for n := int64(1); n <= most; n++ {
			var all, own, same int64
			for bytes, count := range weights {
				all += bytes * count * width.times / width.of
				scaled := bytes * width.times / width.of
				same += scaled * min(count, m[scaled]/n)
			}
			for bytes, count := range m {
				own += bytes * count
			}
			if same*100 >= all*99 && same*n*100 >= own*99 {
				return true
			}
		}
	}
	return false
}

// findCopies finds the stacks outside of modules that make copies of the weights.
func (p *panel) findCopies() {
	const fewest = 4
	var weights []int
	places := make(map[trace.StackID][]int)
	for _, i := range p.apart {
		switch e := p.events.At(int(i)); p.stacks[e.Stack].maker {
		case moveMaker, buildMaker:
			weights = append(weights, int(i))
		default:
			places[e.Stack] = append(places[e.Stack], int(i))
		}
	}
	for stack, made := range places {
		if len(made) < fewest {
			continue
		}
		m := p.sizesOf(made, trace.Never)
		p.copiesWeights[stack] = len(m) > 1 && m.isCopyOf(p.sizesOf(weights, made[0]))
	}
}

// sizesOf counts the sizes of allocations: of those that were alive at an event, or of
// all.
func (p *panel) sizesOf(made []int, at int) multiset {
	m := make(multiset)
	for _, i := range made {
		if at == trace.Never || i < at && p.life.Closed(i) > at {
			m[p.events.At(i).Size]++
		}
	}
	return m
}
