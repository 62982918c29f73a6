package trace

import "sync/atomic"

// Replay keeps the lifetimes of a device's events that were replayed while the events
// were read, for who asks for them first. Safe for concurrent use; nil has none.
type Replay struct {
	life atomic.Pointer[Lifetimes]
}

// NewReplay returns a replay with those lifetimes, which the caller gives away.
func NewReplay(l *Lifetimes) *Replay {
	r := &Replay{}
	r.life.Store(l)
	return r
}

// Take returns lifetimes to be advanced by these events, and to be owned by the caller:
// those that were replayed already, if they are of exactly these events and no one has
// taken them, else new ones.
func (r *Replay) Take(events Events) *Lifetimes {
	if r != nil {
		if l := r.life.Load(); l != nil && l.events.Same(events) && r.life.CompareAndSwap(l, nil) {
			return l
		}
	}
	return NewLifetimes()
}
