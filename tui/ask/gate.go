package ask

import (
	"sync"
	"sync/atomic"
	"time"
)

// Gate keeps what questions are about still while they are answered. Any number
// of questions may read behind one gate at a time; it changes only when none
// does. The zero value is open. It is safe for concurrent use, and a nil gate
// guards nothing.
type Gate struct {
	lock  sync.RWMutex
	spent atomic.Int64 // nanoseconds of reading
}

// Read runs read while nothing changes.
func (g *Gate) Read(read func()) {
	if g == nil {
		read()
		return
	}
	g.lock.RLock()
	began := time.Now()
	defer func() {
		g.spent.Add(int64(time.Since(began)))
		g.lock.RUnlock()
	}()
	read()
}

// Spent returns how long questions have been read behind the gate since the
// last call, all together.
func (g *Gate) Spent() time.Duration { return time.Duration(g.spent.Swap(0)) }

// Change runs change unless somebody reads, and reports whether it did. It
// never waits: the screen's goroutine, which changes things, must not stand
// still for a question. Whoever was refused asks again when an answer has come.
func (g *Gate) Change(change func()) bool {
	if g == nil {
		change()
		return true
	}
	if !g.lock.TryLock() {
		return false
	}
	defer g.lock.Unlock()
	change()
	return true
}
