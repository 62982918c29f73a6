package analysis

import "sync"

// lasting is an answer that is found when it is first asked for, and brought up to
// date when it is asked for again after the index has advanced. Safe for
// concurrent use while the index does not advance.
type lasting[T any] struct {
	mu      sync.Mutex
	version int // of the index that the answer is about, 0 before the first
	answer  T
}

// get returns the answer for the index as it is now. renew makes it of the one
// before, at first the zero value. It must not modify what callers hold.
func (k *lasting[T]) get(x interface{ Version() int }, renew func(before T) T) T {
	k.mu.Lock()
	defer k.mu.Unlock()
	if version := x.Version(); k.version != version {
		k.answer, k.version = renew(k.answer), version
	}
	return k.answer
}
