package probe

import (
	"sync/atomic"

	"github.com/memtop/memtop/snapshots/trace"
)

// stepsKept is how many of the last steps the probe keeps for viewers: a minute
// of steps of 50 ms.
const stepsKept = 1024

// stepRing keeps the last steps. Writers never wait. Each entry is immutable and
// has its number.
type stepRing struct {
	next  atomic.Int64
	slots [stepsKept]atomic.Pointer[numberedStep]
}

type numberedStep struct {
	at   int64
	step trace.Step
}

func (r *stepRing) add(s trace.Step) {
	at := r.next.Add(1) - 1
	slot, entry := &r.slots[at%stepsKept], &numberedStep{at, s}
	for old := slot.Load(); old == nil || old.at < at; old = slot.Load() {
		if slot.CompareAndSwap(old, entry) {
			return
		}
	}
}

func (r *stepRing) end() int64 { return r.next.Load() }

// read returns step number at; nil when it is not there yet or is lost.
func (r *stepRing) read(at int64) (s *trace.Step, lost bool) {
	n := r.slots[at%stepsKept].Load()
	switch {
	case n == nil || n.at < at:
		return nil, false
	case n.at > at:
		return nil, true
	}
	return &n.step, false
}

// last returns the newest step, nil before the first.
func (r *stepRing) last() *trace.Step {
	for at := r.end() - 1; at >= 0; at-- {
		if s, lost := r.read(at); s != nil || lost {
			return s
		}
	}
	return nil
}
