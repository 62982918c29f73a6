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
	// Of the goroutine that updates the screen:
	asked []forgetter // by which questions are asked behind it
	under int         // questions under way
}

type forgetter interface{ forget() }

// Forget drops every answer that was given or is under way: what was behind the
// gate has been replaced. Neither questions nor answers are held any more. It is
// called on the goroutine that updates the screen.
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

// Change runs change unless a question reads, and reports whether it did. It
// never waits: the screen's goroutine, which changes things, must not stand
// still for a question. A caller that was refused asks again when an answer has come.
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
