package difference

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// place is where allocations are compared.
type place struct {
	line trace.FrameID // 0 where it was not recorded
	held bool          // it was held before recording
	cast bool          // a copy that autocast made
}

// pile is what one place holds and no cause has taken yet, by size.
type pile struct {
	place
	left [2]map[int64][]*block
	held [2]int // allocations, before any was taken
}

// sizes returns the sizes of a side's allocations, ascending.
func (p *pile) sizes(side int) []int64 {
	var all []int64
	for size, blocks := range p.left[side] {
		if len(blocks) > 0 {
			all = append(all, size)
		}
	}
	slices.Sort(all)
	return all
}

// take removes n allocations of a size.
func (p *pile) take(side int, size int64, n int) []*block {
	blocks := p.left[side][size]
	p.left[side][size] = blocks[n:]
	return blocks[:n]
}

// cancel takes what is equal on both sides, of equal categories first.
func (p *pile) cancel() {
	for _, size := range p.sizes(0) {
		var count [2][trace.CategoryCount]int
		for side := range p.left {
			for _, b := range p.left[side][size] {
				count[side][b.category]++
			}
		}
		for side := range p.left {
			p.left[side][size] = sharedFirst(p.left[side][size], count)
		}
		n := min(len(p.left[0][size]), len(p.left[1][size]))
		p.take(0, size, n)
		p.take(1, size, n)
	}
}

// sharedFirst returns blocks with those first that both sides have as many of, by category.
func sharedFirst(blocks []*block, count [2][trace.CategoryCount]int) []*block {
	var shared, others []*block
	var seen [trace.CategoryCount]int
	for _, b := range blocks {
		if seen[b.category]++; seen[b.category] <= min(count[0][b.category], count[1][b.category]) {
			shared = append(shared, b)
		} else {
			others = append(others, b)
		}
	}
	return append(shared, others...)
}

func (p *pile) bytes(side int) int64 {
	var sum int64
	for size, blocks := range p.left[side] {
		sum += size * int64(len(blocks))
	}
	return sum
}

// factor returns the one factor between all sizes of both sides.
func (p *pile) factor() (Factor, bool) {
	before, after := p.sizes(0), p.sizes(1)
	if len(before) == 0 || len(before) != len(after) {
		return Factor{}, false
	}
	f, ok := factorOf(before[0], after[0])
	for i := range before {
		g, simple := factorOf(before[i], after[i])
		ok = ok && simple && g == f && len(p.left[0][before[i]]) == len(p.left[1][after[i]])
	}
	return f, ok
}
