package analysis

import "sync"

// lasting is an answer that is computed at the first question, and brought up to
// date at the first question after the index has advanced. Safe for concurrent
// use while the index does not advance.
type lasting[T any] struct {
	mu      sync.Mutex
	version int // of the index that the answer is about, 0 before the first
	answer  T
}

// get returns the answer for the index as it is now. renew makes it from the
// answer before, which is at first the zero value. It must not modify answers
// that callers hold.
func (k *lasting[T]) get(x interface{ Version() int }, renew func(before T) T) T {
	k.mu.Lock()
	defer k.mu.Unlock()
	if version := x.Version(); k.version != version {
		k.answer, k.version = renew(k.answer), version
	}
	return k.answer
}

// latest is an answer about the moment that was asked last. Safe for concurrent use
// while the index does not advance.
type latest[T any] struct {
	mu          sync.Mutex
	version, at int
	answer      T
}

// get returns the answer about the moment right after an event, which find finds.
func (k *latest[T]) get(x interface{ Version() int }, at int, find func(at int) T) T {
	k.mu.Lock()
	defer k.mu.Unlock()
	if version := x.Version(); k.version != version || k.at != at {
		k.answer, k.version, k.at = find(at), version, at
	}
	return k.answer
}

// once returns find with its answers kept: many things have the same stack, frame or
// note. One goroutine may use it.
func once[Key comparable, Answer any](find func(Key) Answer) func(Key) Answer {
	known := make(map[Key]Answer)
	return func(key Key) Answer {
		answer, ok := known[key]
		if !ok {
			answer = find(key)
			known[key] = answer
		}
		return answer
	}
}
