package probe

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/memtop/memtop/snapshots/trace"
)

// awaited is a change that no step has shown yet.
type awaited struct {
	id         int64
	key, value string
	at         int64                  // the first step that is to use it, 0 for the next one
	spelled    atomic.Pointer[string] // the value as the program writes it, nil when that is the same
	taken      atomic.Bool            // the program has it
	step       atomic.Int64           // the first step that showed it, 0 for none yet
	without    atomic.Int64           // the first step that showed another value, 0 for none yet
	refused    atomic.Pointer[string] // why no step will show it; nil unless it failed
}

// stepsWithout is how many steps may end with another value: the one that ran
// when the program took the change, one whose report was under way then, and one
// more in programs that prepare steps ahead. A program that goes on longer
// without the value has dropped the change and should have called Refuse.
const stepsWithout = 3

var dropped = "the program accepted it and went on without it"

// stepped updates the awaited changes. The program calls it at the end of each
// step, when the ring has the step.
func (c *changes) stepped(s *trace.Step) {
	if waiting := c.waiting.Load(); waiting != nil {
		for _, w := range *waiting {
			w.stepped(s)
		}
	}
}

// refused ends the wait for changes that the program took but could not use. The
// program calls it.
func (c *changes) refused(reason string, keys []string) {
	if waiting := c.waiting.Load(); waiting != nil {
		for _, w := range *waiting {
			if slices.Contains(keys, w.key) {
				w.refused.Store(&reason)
			}
		}
	}
}

// stepped notes the first step that shows the value. A step that shows another
// value counts only after the program took the change.
func (w *awaited) stepped(s *trace.Step) {
	i := slices.IndexFunc(s.Settings, func(v trace.Value) bool { return v.Key == w.key })
	switch {
	case i < 0: // the step does not report the setting
	case w.shownBy(s.Settings[i].Value):
		lower(&w.step, s.Number)
	case s.Number >= w.at && w.taken.Load() && s.Number-lower(&w.without, s.Number) >= stepsWithout:
		w.refused.CompareAndSwap(nil, &dropped)
	}
}

func (w *awaited) shownBy(value string) bool {
	spelled := w.spelled.Load()
	return value == w.value || spelled != nil && value == *spelled
}

// lower makes first the smaller of itself and number, with 0 for none, and
// returns it. Two goroutines may see the same step, in any order: the program's
// and that of the viewer's request.
func lower(first *atomic.Int64, number int64) int64 {
	for {
		old := first.Load()
		if old != 0 && old <= number {
			return old
		}
		if first.CompareAndSwap(old, number) {
			return number
		}
	}
}

// settle marks the awaited changes that a step has shown as applied, and earlier
// ones of the same setting as refused: no step will show them any more.
func (c *changes) settle() {
	var still []*awaited
	waiting := c.awaiting()
	shown := make(map[string]int64) // by setting, the latest change
	for i := len(waiting) - 1; i >= 0; i-- {
		w := waiting[i]
		if step := w.step.Load(); step != 0 {
			c.update(w.id, func(e *trace.Change) { e.State, e.Step = trace.Applied, step })
			shown[w.key] = max(shown[w.key], w.id)
		} else if by := shown[w.key]; by != 0 {
			c.update(w.id, replaced(by))
		} else if reason := w.refused.Load(); reason != nil {
			c.update(w.id, func(e *trace.Change) { e.State, e.Reason = trace.Refused, *reason })
		} else {
			still = append(still, w)
		}
	}
	if len(still) < len(waiting) {
		slices.Reverse(still)
		c.expect(still)
	}
}

func (c *changes) expect(waiting []*awaited) {
	if len(waiting) == 0 {
		c.waiting.Store(nil)
		return
	}
	c.waiting.Store(&waiting)
}

// await adds a change to the list of awaited changes.
func (c *changes) await(w *awaited) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expect(append(c.awaiting(), w))
}

// awaiting returns a copy of the list of awaited changes.
func (c *changes) awaiting() []*awaited {
	if waiting := c.waiting.Load(); waiting != nil {
		return slices.Clone(*waiting)
	}
	return nil
}

func replaced(by int64) func(*trace.Change) {
	return func(e *trace.Change) {
		e.State, e.Reason = trace.Refused, fmt.Sprintf("change %d came before a step used it", by)
	}
}
