package ptx

import "slices"

// meet sets where the threads that a branch parts meet again: at the first instruction
// that all ways from it to the function's end have in common. This is where the
// compilers for the machine make them meet, and it does not depend on the order in which
// instructions lie. code is a function, whose last instruction is its end; first is the
// place of its first one.
func meet(code []instruction, first int32) {
	g := blocksOf(code, first)
	joins := g.postdominators()
	for i, b := range g.blocks {
		if last := &code[b.last]; last.branches && last.conditional {
			last.join = first + int32(g.blocks[joins[i]].first)
		}
	}
}

// block is a run of instructions without a branch but at its end.
type flowBlock struct{ first, last int }

// flow is a function's blocks; the last is its end.
type flow struct {
	blocks []flowBlock
	next   [][]int // by block
	before [][]int
}

func blocksOf(code []instruction, first int32) *flow {
	leads := make([]bool, len(code)+1)
	leads[0], leads[len(code)-1] = true, true
	for i := range code {
		if code[i].branches {
			leads[code[i].target-first], leads[i+1] = true, true
		}
	}
	g := &flow{}
	number := make([]int, len(code))
	for i := range code {
		if leads[i] {
			g.blocks = append(g.blocks, flowBlock{i, i})
		}
		number[i] = len(g.blocks) - 1
		g.blocks[number[i]].last = i
	}
	g.next, g.before = make([][]int, len(g.blocks)), make([][]int, len(g.blocks))
	for i, b := range g.blocks {
		last := &code[b.last]
		if last.branches {
			g.join(i, number[last.target-first])
		}
		if b.last+1 < len(code) && (!last.branches || last.conditional) {
			g.join(i, i+1)
		}
	}
	return g
}

func (g *flow) join(from, to int) {
	g.next[from] = append(g.next[from], to)
	g.before[to] = append(g.before[to], from)
}

// postdominators returns for every block the nearest that all ways to the end pass, by
// the method of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance Algorithm").
func (g *flow) postdominators() []int {
	end := len(g.blocks) - 1
	order := g.fromEnd()
	place := make([]int, len(g.blocks)) // in order; what never ends is nowhere
	nearest := make([]int, len(g.blocks))
	for i := range nearest {
		place[i], nearest[i] = -1, -1
	}
	for i, b := range order {
		place[b] = i
	}
	nearest[end] = end
	for changed := true; changed; {
		changed = false
		for _, b := range order[1:] {
			best := -1
			for _, n := range g.next[b] {
				switch {
				case nearest[n] < 0:
				case best < 0:
					best = n
				default:
					best = common(nearest, place, best, n)
				}
			}
			if best != nearest[b] {
				nearest[b], changed = best, true
			}
		}
	}
	for i := range nearest {
		if nearest[i] < 0 {
			nearest[i] = end
		}
	}
	return nearest
}

// common returns the nearest block that two have in common.
func common(nearest, place []int, a, b int) int {
	for a != b {
		for place[a] > place[b] {
			a = nearest[a]
		}
		for place[b] > place[a] {
			b = nearest[b]
		}
	}
	return a
}

// fromEnd returns the blocks from which the end is reached, each before those from
// which it is reached only through it.
func (g *flow) fromEnd() []int {
	var order []int
	seen := make([]bool, len(g.blocks))
	var visit func(b int)
	visit = func(b int) {
		seen[b] = true
		for _, n := range g.before[b] {
			if !seen[n] {
				visit(n)
			}
		}
		order = append(order, b)
	}
	visit(len(g.blocks) - 1)
	slices.Reverse(order)
	return order
}
