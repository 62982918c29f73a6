package main

import (
	"math"
	"runtime/debug"
	"sync"
)

// limits are the bounds on the process's memory, by the file that each is for.
// Together they are what Go's garbage collector keeps the process to: what is
// made of files is counted, and garbage is not. The zero value is ready to use, and
// safe for concurrent use.
type limits struct {
	mutex  sync.Mutex
	bounds map[string]int64
	user   int64 // what GOMEMLIMIT says
	frugal bool  // garbage is kept small
	rests  int   // how many want few collections or none
	before int   // what GOGC says, while it rests
}

// Of a large file most memory is events, which have no pointers. So a collection
// costs little, and garbage of a seventh of what is kept is not waited for.
const (
	largeBound     = 1 << 30
	garbagePercent = 15
)

// uncollected is what the program itself takes, which the collector does not see.
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

// set keeps the process to all bounds.
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

// collect has the collector run as the user wants it, who said a percentage, or more often.
func (l *limits) collect(user int) {
	if l.frugal && user > garbagePercent {
		user = garbagePercent
	}
	debug.SetGCPercent(user)
}

// seldom is how much garbage is waited for while a file is read, in percent: reading
// leaves next to none until its end.
const seldom = 400

// usual is what GOGC is where the user says nothing.
const usual = 100

// reading runs f, which reads a file.
func (l *limits) reading(f func()) {
	l.rest(seldom, f)
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.frugal {
		debug.FreeOSMemory() // what reading took lies in pieces: what is made of the file would not fit in
	}
}

// rest runs f without collections, -1, or with that percentage of garbage, unless bounds ask
// for more of them or something rests already: f is to make little garbage.
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
