package category

import (
	"maps"

	"github.com/memtop/memtop/snapshots/trace"
)

// multiset is sizes of memory. The sizes of a model's weights return in what copies them:
// an optimizer's state that the program makes itself, main copies of half-precision weights.
type multiset map[int64]int64 // by size, how many there are

func (m multiset) count() int {
	n := int64(0)
	for _, count := range m {
		n += count
	}
	return int(n)
}

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
		switch e := p.events.At(int(i)); {
		case p.stacks[e.Stack].maker == moveMaker, p.stacks[e.Stack].maker == buildMaker, p.own[int(i)]:
			weights = append(weights, int(i))
		default:
			places[e.Stack] = append(places[e.Stack], int(i))
		}
	}
	for stack, made := range places {
		if len(made) < fewest {
			continue
		}
		_, most := p.mostAlive(made)
		if m := p.aliveAt(made, most); len(m) > 1 && m.count() >= fewest && m.isCopyOf(p.aliveAt(weights, most)) {
			p.copied[stack] = true
		}
	}
}

// aliveAt counts the sizes of those allocations that are alive after an event.
func (p *panel) aliveAt(made []int, at int) multiset {
	m := make(multiset)
	for _, i := range made {
		if i <= at && p.life.Closed(i) > at {
			m[p.events.At(i).Size]++
		}
	}
	return m
}

// findGradients counts the gradients of each size that are alive at once.
func (p *panel) findGradients() {
	p.gradients, p.left = nil, make(map[int64]int)
	made := make(map[int64][]int)
	for k := range p.spans {
		if s := &p.spans[k]; s.phase == backward {
			p.eachIn(int(s.first), int(s.last)+1, func(i int, e *trace.Event, at int) {
				if m := p.makerOf(e.Stack); m == gradientMaker || (m == backwardMaker || m != bucketMaker && p.stacks[e.Stack].backs) && p.leaves(i, at) {
					made[e.Size] = append(made[e.Size], i)
				}
			})
		}
	}
	p.gradients = make(map[int64]int)
	for bytes, all := range made {
		p.gradients[bytes], _ = p.mostAlive(all)
	}
	clear(p.left)
}

// leaves reports whether a backward pass leaves what it makes.
func (p *panel) leaves(i, at int) bool {
	rule := p.backward(i, at)
	return rule == outlivesBackward || rule == freedByZeroGrad
}

// findOwn finds weights that the program makes without a module: what there is from
// before the first backward pass to the end, the earliest in each size that has more
// gradients than modules have weights. It has to be all of them.
func (p *panel) findOwn() {
	missing := maps.Clone(p.gradients)
	var candidates []int
	for _, i := range p.apart {
		switch e := p.events.At(int(i)); {
		case int(i) >= p.firstBackward || p.life.Closed(int(i)) <= p.last:
		case p.stacks[e.Stack].maker.builds():
			missing[e.Size]--
		default:
			candidates = append(candidates, int(i))
		}
	}
	var all, lost, found int64
	for bytes, count := range p.gradients {
		all += bytes * int64(count)
		lost += bytes * int64(max(0, missing[bytes]))
	}
	own := make(map[int]bool)
	for _, i := range candidates {
		if bytes := p.events.At(i).Size; missing[bytes] > 0 {
			missing[bytes]--
			found += bytes
			own[i] = true
		}
	}
	if lost*50 > all && found*100 >= lost*99 {
		p.own = own
	}
}
