package alloc

import "memtop/snapshots/trace"

// Observe tells r of every event from now on, in the place of whoever was told
// before; nil ends it. A recorder that wants to know from what its events lead
// on asks [Allocator.State]. Safe for concurrent use.
func (a *Allocator) Observe(r trace.Recorder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recorder = r
	a.tick() // for a call that is under way while the lock is released
}

// State returns the memory as it is now and calls at, if that is not nil, at
// this very moment: of the events that a recorder was told of, those before the
// call of at have led to the state, and those after it lead on from there.
// Looking is no event of its own, unlike [Allocator.Snapshot]. at must return at
// once and must not call the allocator. Safe for concurrent use.
func (a *Allocator) State(at func()) trace.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at != nil {
		at()
	}
	return a.state()
}
