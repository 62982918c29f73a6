package alloc

import "slices"

// waiting is a freed block and an event that must happen before it is free.
type waiting struct {
	event Event
	block *block
}

// recordEvents records an event at the current end of every stream that used b.
// The block b is pending from now on.
func (a *Allocator) recordEvents(b *block) {
	for _, s := range *b.uses {
		b.events++
		a.pending++
		s.waiting = append(s.waiting, waiting{a.syncer.RecordEvent(s.handle), b})
	}
	*b.uses = (*b.uses)[:0]
}

// recordDeferred does the same for blocks that were freed in a capture. Streams that
// used them in it need no event: a capture ends after all that is in it.
func (a *Allocator) recordDeferred() {
	for i, b := range a.deferred {
		a.deferred[i] = nil
		*b.uses = slices.DeleteFunc(*b.uses, func(s *stream) bool { return slices.Contains(b.captured, s) })
		if a.recordEvents(b); b.events == 0 {
			a.complete(b)
		}
	}
	a.deferred = a.deferred[:0]
}

// processEvents frees the pending blocks whose events have happened. It goes
// through the streams in the order of their first use, and through each stream's
// events up to the first that has not happened. (PyTorch's order of streams is
// that of a hash table.)
func (a *Allocator) processEvents() {
	if len(a.deferred) > 0 {
		a.recordDeferred()
	}
	if a.pending > 0 {
		a.processPending()
	}
}

func (a *Allocator) processPending() {
	for _, s := range a.streams {
		done := 0
		for done < len(s.waiting) && a.syncer.EventReady(s.waiting[done].event) {
			a.passed(s.waiting[done].block)
			done++
		}
		s.drop(done)
	}
}

// Poll frees the pending blocks whose events have happened, as every request does
// before anything else. Safe for concurrent use.
func (a *Allocator) Poll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tick()
	if !a.capturing() {
		a.processEvents()
	}
}

// synchronize waits for the outstanding events of some blocks and frees these.
func (a *Allocator) synchronize(some func(*block) bool) {
	a.stats.SyncAllStreams++
	a.recordDeferred()
	for _, s := range a.streams {
		s.waiting = slices.DeleteFunc(s.waiting, func(w waiting) bool {
			if !some(w.block) {
				return false
			}
			a.syncer.SyncEvent(w.event)
			a.passed(w.block)
			return true
		})
	}
}

// passed notes that one of the block's events has happened.
func (a *Allocator) passed(b *block) {
	a.pending--
	if b.events--; b.events == 0 {
		a.complete(b)
	}
}

// drop forgets the first n waiting blocks.
func (s *stream) drop(n int) {
	if n == 0 {
		return
	}
	left := copy(s.waiting, s.waiting[n:])
	clear(s.waiting[left:])
	s.waiting = s.waiting[:left]
}
