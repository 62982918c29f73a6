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
	born  int   // gradients of that size, of as many weights
}

// judgeCopies judges blocks of which only the sizes are known. The sizes of
// weights occur in equal numbers of copies: the weights, the gradients if
// backward adds to existing ones, and the optimizer's state.
func (j *Judge) judgeCopies(held []int) {
	sizes := j.groupSizes(held)
	stay := j.countGradients(sizes)
	born := slices.ContainsFunc(sizes, func(s size) bool { return s.born > 0 })
	copies := commonCopies(sizes)
	if n := trainedCopies(sizes); !born && n > 1 {
		for i := range sizes {
			sizes[i].born = len(sizes[i].held) / n
		}
		copies, stay, born = n, n < most, true
	}
	if !born && (j.events.Len() <= 1 || !j.stacked) {
		j.judgeShapes(sizes)
		return
	}
	for i := range sizes {
		j.judgeSize(&sizes[i], copies, stay)
	}
	if born {
		j.judgeOthers(sizes, copies)
	}
}

// most is how many copies there are at most: weights, gradients and two of Adam's, or
// weights, two of Adam's and another set of weights.
const most = 4

// mostStates is how many of Adam's states there are for each weight.
const mostStates = 2

// commonCopies looks at the sizes of which backward makes gradients, and returns
// the number of copies that more of their bytes have than any other, or a few of them
// beside weights that lie in one buffer. It returns 1 if few agree, because then the
// backward pass is not whole.
func commonCopies(sizes []size) int {
	var bytes [most + 1]int64
	all := int64(0)
	for i := range sizes {
		s := &sizes[i]
		if s.born == 0 {
			continue
		}
		once := int64(s.born) * s.bytes
		all += once
		if n := len(s.held) / s.born; n <= most && n*s.born == len(s.held) {
			bytes[n] += once
		}
	}
	copies := 1
	for n := 2; n <= most; n++ {
		if bytes[n]*3 > all && bytes[n] >= bytes[1] && (copies == 1 || bytes[n] >= bytes[copies]) {
			copies = n
		}
	}
	return copies
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

// haveCopies reports whether nearly every size occurs a multiple of n times, and some
// that lies around the layers, once or twice in each copy. The rest may be something
// else, but no size that occurs often: layers of an even number repeat most sizes, but
// not those that lie around the layers too.
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
			unique = unique || len(s.held) <= 2*n
		case len(s.held) > 2*n:
			return false
		}
	}
	return agree >= fewest && unique && fits*10 >= all*9
}

// judgeSize gives the copies of one size their names; what there is beyond them is
// weights that get no gradient. Gradients that stay after backward are made anew by
// each pass, so none of them is among those held before. More copies than the optimizer
// has state are a second set of weights: one that is averaged, or compared with.
func (j *Judge) judgeSize(s *size, copies int, stay bool) {
	gradients := s.born
	if stay {
		gradients = 0
	}
	state := max(0, min((copies-1)*s.born-gradients, mostStates*s.born))
	weights := len(s.held) - gradients - state
	if weights < 0 {
		weights = len(s.held) // fewer copies than of other sizes: something else has this size
	}
	for i, k := range s.held {
		switch {
		case i < weights:
			j.held[k] = heldWeight
		case i < weights+gradients:
			j.held[k] = heldGradient
		default:
			j.held[k] = heldState
		}
	}
}

// judgeOthers judges what has sizes of which there are no gradients, where others have
// them. Copies of the weights in another width are the optimizer's. A part of the model
// that is not trained has layers that repeat its sizes; single blocks are data that the
// program keeps.
func (j *Judge) judgeOthers(sizes []size, copies int) {
	weights, rest := make(multiset), make(multiset)
	var repeated, all int64
	for i := range sizes {
		s := &sizes[i]
		rest[s.bytes] = int64(max(0, len(s.held)-copies*s.born))
		if s.born > 0 {
			weights[s.bytes] = int64(s.born)
		} else if !isVector(s) {
			all += s.bytes * rest[s.bytes]
			if len(s.held) >= fewestLayers {
				repeated += s.bytes * rest[s.bytes]
			}
		}
	}
	rule := heldUnknown
	if rest.isCopyOf(weights) {
		rule = heldState
	} else if repeated*2 > all {
		return
	}
	for i := range sizes {
		s := &sizes[i]
		if rule == heldState || s.born == 0 && !isVector(s) {
			for _, k := range s.held[:rest[s.bytes]] {
				j.held[k] = rule
			}
		}
	}
}

// fewestLayers is how often a size occurs, at least, if layers have it.
const fewestLayers = 3

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
		if s.bytes != blasWorkspace {
			return false
		}
		for _, k := range s.held {
			j.held[k] = workspaceSize
		}
		return true
	})
}

// countGradients counts the gradients of each size. Where backward adds to those that are
// there, it makes as many in one pass and frees them; else they are what is alive at once.
func (j *Judge) countGradients(sizes []size) (stay bool) {
	adding := make(map[int64]int)
	for i := j.longest[0]; i <= j.longest[1] && i < j.events.Len() && len(j.gradients) == 0; i++ {
		if e := j.events.At(i); e.Kind == trace.Alloc && j.rules[i] == backwardScratch {
			adding[e.Size]++
		}
	}
	for i := range sizes {
		sizes[i].born = adding[sizes[i].bytes] + j.gradients[sizes[i].bytes]
	}
	return len(j.gradients) > 0
}

// mostAlive returns how many of the allocations, in the order of their events, are alive
// at once at most, and the first event after which they are.
func (j *Judge) mostAlive(made []int) (count, at int) {
	ends := make([]int, len(made))
	for k, i := range made {
		ends[k] = j.life.Closed(i)
	}
	slices.Sort(ends)
	gone := 0
	for k, i := range made {
		for ends[gone] < i {
			gone++
		}
		if k+1-gone > count {
			count, at = k+1-gone, i
		}
	}
	return count, at
}
