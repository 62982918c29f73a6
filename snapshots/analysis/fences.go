package analysis

// fences is an ordered set of addresses at which something begins or ends: live
// blocks and the ends of segments.
type fences struct {
	set runs[fence]
}

// fence is one address. A block may begin where a segment ends.
type fence struct {
	addr  uint64
	block bool
	end   bool
}

func (f fence) address() uint64 { return f.addr }

// add marks an address.
func (f *fences) add(addr uint64, block bool) {
	p, ok := f.set.find(addr)
	if !ok {
		f.set.insert(p, fence{addr, block, !block})
		return
	}
	mark := f.set.at(p)
	mark.block = mark.block || block
	mark.end = mark.end || !block
}

// remove takes a mark away again.
func (f *fences) remove(addr uint64, block bool) {
	p, ok := f.set.find(addr)
	if !ok {
		return
	}
	mark := f.set.at(p)
	if block {
		mark.block = false
	} else {
		mark.end = false
	}
	if !mark.block && !mark.end {
		f.set.delete(p)
	}
}

// around returns the block right before an address and the first fence after
// it, 0 where there is none.
func (f *fences) around(addr uint64) (before, after uint64) {
	p, ok := f.set.find(addr)
	if mark, _ := f.set.before(p); mark != nil && mark.block {
		before = mark.addr
	}
	if ok {
		p.at++
	}
	if mark := f.set.at(p); mark != nil {
		after = mark.addr
	}
	return before, after
}
