package alloc

import "github.com/memtop/memtop/snapshots/trace"

// Observe makes r the recorder of every event from now on; nil ends recording.
// [Allocator.State] returns the state before r's events. Safe for concurrent use.
func (a *Allocator) Observe(r trace.Recorder) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.recorder = r
	a.tick() // for a call that is under way without the lock
}

// State returns the current memory and calls at, if that is not nil, at that
// moment: the events recorded before the call of at led to the state, and the
// later events follow it. State records no event of its own, unlike
// [Allocator.Snapshot], but a state cannot say which blocks are lost: State
// records those again, see [Allocator.Lost]. at must return at once and must not
// call the allocator. Safe for concurrent use.
func (a *Allocator) State(at func()) trace.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at != nil {
		at()
	}
	if a.recorder != nil {
		a.tick()
		for _, b := range a.lost {
			a.write(&a.latest, trace.Lost, b.addr, b.requested, b.set.stream, b.stack, b.tag)
			a.recorder.Record(a.device, a.latest)
		}
	}
	return a.state()
}

// Lost says that the program can no longer reach the block and did not free it:
// its bytes are unusable until the program ends. It records one event. The
// block's state does not change. Safe for concurrent use.
func (a *Allocator) Lost(b Allocation) {
	if b.b == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	bl := b.live("Lost of")
	a.lost = append(a.lost, bl)
	a.tick()
	a.record(trace.Lost, bl.addr, bl.requested, bl.set.stream, bl.stack, bl.tag)
}
