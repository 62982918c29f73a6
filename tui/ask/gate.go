package ask

import (
	"sync"
	"sync/atomic"
	"time"
)

// Gate protects data from changes while questions read it. Any number of
// questions may read behind one gate at a time; the data changes only when none
// reads. The zero value is open. It is safe for concurrent use, and a nil gate
// guards nothing.
type Gate struct {
	lock  sync.RWMutex
	spent atomic.Int64 // nanoseconds of reading
	// Of the goroutine that updates the screen:
	asked []forgetter // the Ones that ask behind it
	under int         // questions under way
}

type forgetter interface{ forget() }

// Forget drops all answers and all questions under way, because the data behind
// the gate was replaced. The goroutine that updates the screen calls it.
func (g *Gate) Forget() {
	for _, o := range g.asked {
		o.forget()
	}
}

// Idle reports whether no question is under way, on the same goroutine.
func (g *Gate) Idle() bool { return g.under == 0 }

func (g *Gate) count(questions int) {
	if g != nil {
		g.under += questions
	}
}

// Read runs read and blocks changes meanwhile.
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

// Change runs change unless a question reads, and reports whether it ran. It
// never waits, because the screen's goroutine must not wait for a question. A
// refused caller tries again when an answer has arrived.
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
