package analysis

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Certainty says how sure a judgement is.
type Certainty uint8

// The degrees of certainty.
const (
	No Certainty = iota
	Possible
	Probable
	Certain
)

// String returns the certainty's name in JSON.
func (c Certainty) String() string { return [...]string{"no", "possible", "probable", "certain"}[c] }

// Overflow says whether the beginning of the trace was lost: PyTorch keeps a
// limited number of events and silently drops the oldest ones.
type Overflow struct {
	Lost   Certainty
	Reason string // how memtop knows, one clause
}

// Overflow judges whether earlier events were lost. New writers say so. For old
// writers there are two signs. First, the number of events is one that people set
// as the limit. Second, memory has a stack, so it was allocated while recording
// was on, but no alloc event. A recording that was restarted also shows the
// second sign. If the writer gave the base, it also says whether events were
// lost.
func (r *record) Overflow() Overflow {
	n := r.events.Len()
	limit, flagged := r.device.MaxEvents, r.device.Overflowed
	switch {
	case !r.History(), r.device.Base != nil && !flagged:
		return Overflow{}
	case flagged:
		return Overflow{Certain, "the file says that its buffer of events overflowed"}
	case limit > 0 && int64(n) >= limit:
		return Overflow{Certain, fmt.Sprintf("the trace is as long as the buffer, %s events", quantity.Count(int(limit)))}
	}
	orphans, bytes := r.orphans()
	missing := fmt.Sprintf("%s (%s) allocated while recording was on without an alloc event", quantity.Plural(orphans, "block"), quantity.Bytes(bytes))
	switch {
	case orphans > 0 && limit == 0 && isRound(n):
		return Overflow{Probable, fmt.Sprintf("the trace has exactly %s events, and there is memory in %s", quantity.Count(n), missing)}
	case limit == 0 && isRound(n) && len(r.life.Held) > 0:
		return Overflow{Possible, fmt.Sprintf("the trace has exactly %s events, which looks like a limit", quantity.Count(n))}
	case orphans > 0:
		return Overflow{Possible, "there is memory in " + missing}
	}
	return Overflow{}
}

// orphans counts the live blocks that were allocated while stacks were being
// recorded, but before the trace begins.
func (r *record) orphans() (int, int64) {
	var n int
	var bytes int64
	for k := range r.life.Held {
		if h := &r.life.Held[k]; !h.FreeStack && h.Stack > trace.EmptyStack {
			n++
			bytes += h.Size
		}
	}
	return n, bytes
}

// isRound reports whether people set such a number as a limit: a digit and zeros,
// or a power of two.
func isRound(n int) bool {
	if n < 1000 {
		return false
	}
	if n&(n-1) == 0 {
		return true
	}
	for n%10 == 0 {
		n /= 10
	}
	return n < 10 || n == 15 || n == 25
}
