package analysis

import (
	"slices"
	"sort"
)

// fences is an ordered set of addresses at which something begins or ends: live
// blocks and the ends of segments. It is kept in short runs, so that adding
// one moves few others.
type fences struct {
	runs [][]fence
}

// fence is one address. A block may begin where a segment ends.
type fence struct {
	addr  uint64
	block bool
	end   bool
}

const fenceRun = 256

// run returns the run that an address belongs in.
func (f *fences) run(addr uint64) int {
	return max(0, sort.Search(len(f.runs), func(i int) bool { return f.runs[i][0].addr > addr })-1)
}

// within returns the place of an address in a run, and whether it is there.
func within(run []fence, addr uint64) (int, bool) {
	low, high := 0, len(run)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if run[middle].addr < addr {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(run) && run[low].addr == addr
}

// add marks an address.
func (f *fences) add(addr uint64, block bool) {
	if len(f.runs) == 0 {
		f.runs = append(f.runs, append(make([]fence, 0, 2*fenceRun), fence{addr, block, !block}))
		return
	}
	r := f.run(addr)
	at, ok := within(f.runs[r], addr)
	if !ok {
		f.runs[r] = slices.Insert(f.runs[r], at, fence{addr: addr})
	}
	f.runs[r][at].block = f.runs[r][at].block || block
	f.runs[r][at].end = f.runs[r][at].end || !block
	if len(f.runs[r]) >= 2*fenceRun {
		tail := append(make([]fence, 0, 2*fenceRun), f.runs[r][fenceRun:]...)
		f.runs[r] = f.runs[r][:fenceRun]
		f.runs = slices.Insert(f.runs, r+1, tail)
	}
}

// remove takes a mark away again.
func (f *fences) remove(addr uint64, block bool) {
	if len(f.runs) == 0 {
		return
	}
	r := f.run(addr)
	at, ok := within(f.runs[r], addr)
	if !ok {
		return
	}
	if block {
		f.runs[r][at].block = false
	} else {
		f.runs[r][at].end = false
	}
	if f.runs[r][at].block || f.runs[r][at].end {
		return
	}
	f.runs[r] = slices.Delete(f.runs[r], at, at+1)
	if len(f.runs[r]) == 0 {
		f.runs = slices.Delete(f.runs, r, r+1)
	}
}

// around returns the block before an address and the first fence after it, 0
// where there is none.
func (f *fences) around(addr uint64) (before, after uint64) {
	if len(f.runs) == 0 {
		return 0, 0
	}
	r := f.run(addr)
	at, ok := within(f.runs[r], addr)
	switch {
	case at > 0 && f.runs[r][at-1].block:
		before = f.runs[r][at-1].addr
	case at == 0 && r > 0:
		if last := f.runs[r-1][len(f.runs[r-1])-1]; last.block {
			before = last.addr
		}
	}
	if ok {
		at++
	}
	switch {
	case at < len(f.runs[r]):
		after = f.runs[r][at].addr
	case r+1 < len(f.runs):
		after = f.runs[r+1][0].addr
	}
	return before, after
}
