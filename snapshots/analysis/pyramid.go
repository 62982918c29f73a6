package analysis

import "math"

// pyramid finds the first largest of the values k..m in a time that hardly grows
// with their number: each level keeps the largest of every sixteen values of the
// level below.
type pyramid struct {
	levels [][]int64
}

const (
	pyramidShift = 4
	pyramidFan   = 1 << pyramidShift
)

// set writes value k, which is at most one past the last.
func (p *pyramid) set(k int, value int64) {
	if len(p.levels) == 0 {
		p.levels = append(p.levels, nil)
	}
	if k == len(p.levels[0]) {
		p.levels[0] = append(p.levels[0], value)
		return
	}
	p.levels[0][k] = value
}

// build renews the upper levels after values from k on were set.
func (p *pyramid) build(k int) {
	for level := 0; level < len(p.levels) && len(p.levels[level]) > pyramidFan; level++ {
		if level+1 == len(p.levels) {
			p.levels = append(p.levels, nil)
			k = 0
		}
		k >>= pyramidShift
		below, above := p.levels[level], p.levels[level+1][:min(k, len(p.levels[level+1]))]
		for at := len(above) << pyramidShift; at < len(below); at += pyramidFan {
			above = append(above, largest(below[at:min(at+pyramidFan, len(below))]))
		}
		p.levels[level+1] = above
	}
}

func largest(values []int64) int64 {
	best := int64(math.MinInt64)
	for _, v := range values {
		best = max(best, v)
	}
	return best
}

// max returns the first index in [from, to) with the largest value, and that
// value. The range must not be empty.
func (p *pyramid) max(from, to int) (int, int64) {
	at, best := -1, int64(math.MinInt64)
	for k := from; k < to; {
		level := 0
		for level+1 < len(p.levels) && k&(1<<((level+1)*pyramidShift)-1) == 0 && k+1<<((level+1)*pyramidShift) <= to {
			level++
		}
		if v := p.levels[level][k>>(level*pyramidShift)]; v > best || at < 0 {
			at, best = p.descend(level, k>>(level*pyramidShift), v), v
		}
		k += 1 << (level * pyramidShift)
	}
	return at, best
}

// descend finds the bottom value that entry k of a level stands for, the first
// one if several are equal.
func (p *pyramid) descend(level, k int, value int64) int {
	for ; level > 0; level-- {
		k <<= pyramidShift
		for p.levels[level-1][k] != value {
			k++
		}
	}
	return k
}

// top calls yield with up to n indices in [from, to), largest values first.
// It looks into a part only when that part's largest value is next.
func (p *pyramid) top(from, to, n int, yield func(k int, value int64)) {
	type part struct{ from, to int }
	if from >= to {
		return
	}
	var heap maxHeap[part]
	put := func(from, to int) {
		if from < to {
			_, v := p.max(from, to)
			heap.push(v, part{from, to})
		}
	}
	put(from, to)
	for ; n > 0 && heap.len() > 0; n-- {
		value, next := heap.pop()
		k, _ := p.max(next.from, next.to)
		yield(k, value)
		put(next.from, k)
		put(k+1, next.to)
	}
}
