package analysis

import (
	"math"
	"slices"
)

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
			above = append(above, slices.Max(below[at:min(at+pyramidFan, len(below))]))
		}
		p.levels[level+1] = above
	}
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
