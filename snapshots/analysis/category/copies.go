package category

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// size has the held blocks of one size that are never freed and have no stack.
type size struct {
	bytes int64
	held  []int // indices of Lifetimes.Held
	born  int   // gradients of that size that one backward pass makes
}

// judgeCopies judges blocks of which only the sizes are known. The sizes of
// weights occur in equal numbers of copies: the weights, the gradients if
// backward adds to existing ones, and the optimizer's state.
func (j *Judge) judgeCopies(held []int) {
	sizes := j.groupSizes(held)
	stay := j.countGradients(sizes)
	born := slices.ContainsFunc(sizes, func(s size) bool { return s.born > 0 })
	if copies := trainedCopies(sizes); !born && copies > 1 {
		for i := range sizes {
			j.judgeSize(&sizes[i], copies, copies < most)
		}
		return
	}
	if !j.history() {
		j.judgeShapes(sizes)
		return
	}
	copies := commonCopies(sizes)
	for i := range sizes {
		s, each := &sizes[i], 1
		if s.born > 0 && len(s.held) >= copies {
			each = copies
		}
		j.judgeSize(s, each, stay)
	}
}

// most is how many copies there are at most: weights, gradients and two of Adam's.
const most = 4

// commonCopies looks at the sizes of which backward makes gradients, and returns
// the number of copies that most of their bytes have. It returns 1 if the sizes
// do not agree, because then the backward pass is not whole.
func commonCopies(sizes []size) int {
	var bytes [most + 1]int64
	all := int64(0)
	for i := range sizes {
		s := &sizes[i]
		if s.born == 0 {
			continue
		}
		held := int64(len(s.held)) * s.bytes
		all += held
		if n := len(s.held) / s.born; n <= most && n*s.born == len(s.held) {
			bytes[n] += held
		}
	}
	for n := most; n > 1; n-- {
		if bytes[n]*2 > all {
			return n
		}
	}
	return 1
}

// trainedCopies knows weights with Adam's state, and maybe gradients, by their counts
// alone. It returns 1 where there is no such thing.
func trainedCopies(sizes []size) int {
	for n := most; n > 2; n-- {
		if haveCopies(sizes, n) {
			return n
		}
	}
	return 1
}

// haveCopies reports whether every size occurs a multiple of n times, and some just
// so often. A few bytes may be something else, but no size that occurs often: layers
// of an even number repeat most sizes, but not those that lie around the layers too.
func haveCopies(sizes []size, n int) bool {
	const fewest = 4 // sizes that have to agree
	agree, unique := 0, false
	var fits, all int64
	for i := range sizes {
		s := &sizes[i]
		held := int64(len(s.held)) * s.bytes
		all += held
		switch {
		case len(s.held)%n == 0:
			agree, fits = agree+1, fits+held
			unique = unique || len(s.held) == n
		case len(s.held) > 2*n:
			return false
		}
	}
	return agree >= fewest && unique && fits*200 >= all*199
}

// judgeSize gives the copies of one size their names. Gradients that stay after
// backward are made anew by each pass, so none of them is among those held before.
func (j *Judge) judgeSize(s *size, copies int, stay bool) {
	each := len(s.held) / copies
	for i, k := range s.held {
		switch n := i / max(each, 1); {
		case n == 0 || copies == 1:
			j.held[k] = heldWeight
		case n == 1 && !stay:
			j.held[k] = heldGradient
		default:
			j.held[k] = heldState
		}
	}
}

// groupSizes groups blocks by size, the largest first, and takes workspaces out.
func (j *Judge) groupSizes(held []int) []size {
	held = slices.Clone(held)
	slices.SortStableFunc(held, func(a, b int) int { return cmp.Compare(j.life.Held[b].Size, j.life.Held[a].Size) })
	var sizes []size
	for _, k := range held {
		bytes := j.life.Held[k].Size
		if n := len(sizes); n == 0 || sizes[n-1].bytes != bytes {
			sizes = append(sizes, size{bytes: bytes})
		}
		s := &sizes[len(sizes)-1]
		s.held = append(s.held, k)
	}
	return slices.DeleteFunc(sizes, func(s size) bool {
		if s.bytes != blasWorkspace && (s.bytes != hopperWorkspace || len(s.held) > 2) {
			return false
		}
		for _, k := range s.held {
			j.held[k] = workspaceSize
		}
		return true
	})
}

// countGradients counts the gradients of each size that one backward pass makes. Where
// they outlive it, only those that do.
func (j *Judge) countGradients(sizes []size) (stay bool) {
	place := make(map[int64]int, len(sizes))
	for i := range sizes {
		place[sizes[i].bytes] = i
	}
	all, staying := make([]int, len(sizes)), make([]int, len(sizes))
	first, last := j.longest[0], j.longest[1]
	for i := first; i <= last && i < j.events.Len(); i++ {
		e := j.events.At(i)
		if e.Kind != trace.Alloc {
			continue
		}
		at, ok := place[e.Size]
		if !ok {
			continue
		}
		switch j.rules[i] {
		case backwardScratch:
			all[at]++
		case outlivesBackward, freedByZeroGrad, accumulated:
			staying[at]++
			stay = true
		default: // no gradient
		}
	}
	for i := range sizes {
		sizes[i].born = all[i]
		if stay {
			sizes[i].born = staying[i]
		}
	}
	return stay
}

// history reports whether the trace says how memory came to be.
func (j *Judge) history() bool { return j.events.Len() > 1 }
