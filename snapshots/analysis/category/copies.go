package category

import (
	"cmp"
	"slices"

	"memtop/snapshots/trace"
)

// size is what is held of one size, never freed, and without a stack.
type size struct {
	bytes int64
	held  []int // indices of Lifetimes.Held
	born  int   // gradients of that size that one backward pass makes
}

// judgeCopies judges blocks of which nothing is known but their sizes. The sizes of
// weights occur in equal numbers of copies: weights, gradients where backward adds to
// what is there, and what the optimizer keeps.
func (j *Judge) judgeCopies(held []int) {
	sizes := j.groupSizes(held)
	stay := j.countGradients(sizes)
	if !j.history() {
		j.judgeShapes(sizes)
		return
	}
	for i := range sizes {
		s := &sizes[i]
		j.judgeSize(s, max(1, s.copies()), stay)
	}
}

// copies returns how many copies there are, by how many gradients one pass makes.
func (s *size) copies() int {
	if s.born == 0 {
		return 1
	}
	return min(len(s.held)/s.born, 4)
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
