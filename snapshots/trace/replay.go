package trace

import "sync/atomic"

// Replay keeps lifetimes that a reader replayed while it read a device's events.
// The first caller that asks for them gets them. A Replay is safe for concurrent
// use; nil has no lifetimes.
type Replay struct {
	life atomic.Pointer[Lifetimes]
}

// NewReplay returns a replay with those lifetimes. The caller gives up their
// ownership.
func NewReplay(l *Lifetimes) *Replay {
	r := &Replay{}
	r.life.Store(l)
	return r
}

// Take returns lifetimes for these events. The caller owns and advances them.
// They are the replayed lifetimes, if those are of exactly these events and no
// caller has taken them; otherwise they are new.
func (r *Replay) Take(events Events) *Lifetimes {
	if r != nil {
		if l := r.life.Load(); l != nil && l.events.Same(events) && r.life.CompareAndSwap(l, nil) {
			return l
		}
	}
	return NewLifetimes()
}
