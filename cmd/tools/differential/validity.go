package main

import (
	"maps"
	"slices"
)

// validity knows which operations can follow those that it took.
type validity struct {
	late       bool
	live, used map[int]bool // blocks, and those that other streams used
	pools      map[int]bool
	open       int  // the pool in use
	deferred   bool // the free of a block waits for the end of a capture
}

// takes reports whether an operation is valid, and notes it if so.
func (v *validity) takes(o operation) bool {
	switch o.kind {
	case request:
		v.live[o.id], v.deferred = true, v.deferred && v.open != 0
	case free:
		return v.frees(o.id)
	case record:
		v.used[o.id] = true
		return v.live[o.id]
	case empty:
		v.deferred = v.deferred && v.open != 0
		return v.open == 0 || made(v.open) // PyTorch 2.6 fails in a capture, others do nothing
	case begin:
		if v.open != 0 {
			return false
		}
		v.open, v.pools[o.id] = o.id, true
	case end:
		if v.open != o.id {
			return false
		}
		v.open = 0
	case drop:
		return v.drops(o.id)
	}
	return true
}

// frees is takes for a free. The order in which several frees go on that waited for the
// end of a capture is that of a table by address. If events are late, they go on one
// by one, so that this order would decide what comes later.
func (v *validity) frees(block int) bool {
	waits := v.open != 0 && v.used[block]
	if !v.live[block] || waits && v.deferred && v.late {
		return false
	}
	v.live[block], v.deferred = false, v.deferred || waits
	return true
}

// drops is takes for a drop. While a pool is in use, PyTorch ends when one is dropped.
// One that serves when memory runs out serves on in earlier releases, which then end.
func (v *validity) drops(pool int) bool {
	if v.open != 0 || !v.pools[pool] || serves(pool) {
		return false
	}
	v.pools[pool] = false
	return true
}

// ending returns what leaves the allocator empty.
func (v *validity) ending(body []operation) (list []operation) {
	if v.open != 0 {
		list = append(list, operation{kind: end, id: v.open})
	}
	for _, o := range body {
		if o.kind == request && v.live[o.id] {
			list, v.live[o.id] = append(list, operation{kind: free, id: o.id}), false
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.pools)) {
		if v.pools[id] {
			list = append(list, operation{kind: drop, id: id})
		}
	}
	return append(list, operation{kind: empty})
}
