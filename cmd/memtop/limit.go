package main

import (
	"math"
	"runtime/debug"
	"sync"
)

// limits holds a bound on the process's memory for each file. Their sum is the
// limit for Go's garbage collector: a bound counts the data made from a file,
// without garbage. The zero value is ready to use, and safe for concurrent use.
type limits struct {
	mutex  sync.Mutex
	bounds map[string]int64
	user   int64 // what GOMEMLIMIT says
	frugal bool  // garbage is kept small
	rests  int   // how many want few collections or none
	before int   // what GOGC says, while it rests
}

// Most memory of a large file is events, which have no pointers. So a collection
// costs little, and it is worth running as soon as garbage reaches about a
// seventh of the live memory.
const (
	largeBound     = 1 << 30
	garbagePercent = 15
)

// uncollected is the memory of the program itself, which the collector does not
// see.
const uncollected = 12 << 20

// bound notes a file's bound.
func (l *limits) bound(path string, bound int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.bounds == nil {
		l.bounds, l.user = make(map[string]int64), debug.SetMemoryLimit(-1)
	}
	l.bounds[path] = bound
	l.set()
}

// release forgets a file's bound.
func (l *limits) release(path string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if _, known := l.bounds[path]; known && len(l.bounds) > 1 {
		delete(l.bounds, path)
		l.set()
	}
}

// set applies all bounds to the process.
func (l *limits) set() {
	sum := int64(0)
	for _, b := range l.bounds {
		sum += min(b, math.MaxInt64-sum)
	}
	debug.SetMemoryLimit(min(max(sum-uncollected, 0), l.user))
	if sum > largeBound && !l.frugal {
		l.frugal = true
		if l.rests == 0 {
			l.collect(debug.SetGCPercent(garbagePercent))
		}
	}
}

// collect makes the collector run at the user's percentage, or more often.
func (l *limits) collect(user int) {
	if l.frugal && user > garbagePercent {
		user = garbagePercent
	}
	debug.SetGCPercent(user)
}

// seldom is the garbage, in percent, before a collection starts while a file is
// read: reading leaves almost none until its end.
const seldom = 400

// usual is the value of GOGC if the user sets none.
const usual = 100

// reading runs f, which reads a file, with few collections.
func (l *limits) reading(f func()) {
	l.rest(seldom, f)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.frugal {
		debug.FreeOSMemory() // what reading took lies in pieces: what is made of the file would not fit in
	}
}

// rest runs f with the given percentage of garbage, or without collections if
// that is -1. It changes nothing if bounds require more collections or another
// rest is running. f should make little garbage.
func (l *limits) rest(percent int, f func()) {
	l.mutex.Lock()
	if l.rests++; l.rests == 1 {
		l.before = debug.SetGCPercent(percent)
		if percent > 0 && l.before != usual {
			debug.SetGCPercent(l.before) // the user, or a bound, has said so
		}
	}
	l.mutex.Unlock()
	defer func() {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		if l.rests--; l.rests == 0 {
			l.collect(l.before)
		}
	}()
	f()
}
