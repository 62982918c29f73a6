package trace

import "slices"

// orderedIDs is a set of addresses in ascending order, each with a number: a list
// of short sorted runs. Every operation costs a binary search and moves at most
// one run, so that no file can make a replay quadratic.
type orderedIDs struct {
	first []uint64 // the first address of each run
	runs  []orderedRun
	count int
}

type orderedRun struct {
	addrs []uint64
	ids   []int32
}

const orderedRunLimit = 128

// place is the position of an address, or the position where it would be
// inserted.
type place struct{ run, at int }

// search returns where addr is or belongs, and whether it is there.
func (o *orderedIDs) search(addr uint64) (place, bool) {
	if len(o.runs) == 0 {
		return place{}, false
	}
	last := len(o.runs) - 1
	if all := o.runs[last].addrs; addr > all[len(all)-1] { // usual while a state is read in order
		return place{last, len(all)}, false
	}
	run, first := slices.BinarySearch(o.first, addr)
	if !first {
		run = max(run-1, 0)
	}
	at, found := slices.BinarySearch(o.runs[run].addrs, addr)
	return place{run, at}, found
}

func (o *orderedIDs) get(addr uint64) (int32, bool) {
	p, ok := o.search(addr)
	if !ok {
		return 0, false
	}
	return o.runs[p.run].ids[p.at], true
}

// put adds addr, or changes its number.
func (o *orderedIDs) put(addr uint64, id int32) {
	p, ok := o.search(addr)
	if ok {
		o.runs[p.run].ids[p.at] = id
		return
	}
	if len(o.runs) == 0 {
		o.runs, o.first = make([]orderedRun, 1), make([]uint64, 1)
	}
	if len(o.runs[p.run].addrs) == orderedRunLimit {
		o.split(p.run)
		p, _ = o.search(addr)
	}
	run := &o.runs[p.run]
	run.addrs = slices.Insert(run.addrs, p.at, addr)
	run.ids = slices.Insert(run.ids, p.at, id)
	o.first[p.run] = run.addrs[0]
	o.count++
}

// remove takes addr out and returns its number.
func (o *orderedIDs) remove(addr uint64) (int32, bool) {
	p, ok := o.search(addr)
	if !ok {
		return 0, false
	}
	run := &o.runs[p.run]
	id := run.ids[p.at]
	run.addrs = slices.Delete(run.addrs, p.at, p.at+1)
	run.ids = slices.Delete(run.ids, p.at, p.at+1)
	o.count--
	if len(run.addrs) == 0 {
		o.runs = slices.Delete(o.runs, p.run, p.run+1)
		o.first = slices.Delete(o.first, p.run, p.run+1)
	} else {
		o.first[p.run] = run.addrs[0]
	}
	return id, true
}

// split cuts a full run in two.
func (o *orderedIDs) split(i int) {
	run := &o.runs[i]
	half := len(run.addrs) / 2
	second := orderedRun{
		addrs: append(make([]uint64, 0, orderedRunLimit), run.addrs[half:]...),
		ids:   append(make([]int32, 0, orderedRunLimit), run.ids[half:]...),
	}
	run.addrs, run.ids = run.addrs[:half], run.ids[:half]
	o.runs = slices.Insert(o.runs, i+1, second)
	o.first = slices.Insert(o.first, i+1, second.addrs[0])
}

// floor returns the number of the last address not above addr.
func (o *orderedIDs) floor(addr uint64) (int32, bool) {
	p, ok := o.search(addr)
	if ok {
		return o.runs[p.run].ids[p.at], true
	}
	if p.at == 0 {
		return 0, false
	}
	return o.runs[p.run].ids[p.at-1], true
}

// from calls yield in ascending order for the addresses not below addr, until
// it returns false. The set must not change meanwhile.
func (o *orderedIDs) from(addr uint64, yield func(uint64, int32) bool) {
	p, _ := o.search(addr)
	for at := p.at; p.run < len(o.runs); p.run, at = p.run+1, 0 {
		run := &o.runs[p.run]
		for ; at < len(run.addrs); at++ {
			if !yield(run.addrs[at], run.ids[at]) {
				return
			}
		}
	}
}
