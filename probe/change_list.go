package probe

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// Changes
//
// A change is noted as pending, then predicted, then handed to the program, in
// that order and one at a time, all on the asking viewer's goroutine. It is
// applied at the first step that reports its value; Step notes that with a few
// comparisons and without a lock. One that was asked for again before a step used
// it is refused: no step will show it. So is one that the program has taken
// back, see [Probe.Refuse].

const (
	// changesKept bounds the list; the oldest that are settled go first.
	changesKept = 512
	// changesWaiting bounds those that no step has shown yet.
	changesWaiting = 64
	// predictTimeout is how long a prediction may hold up a change.
	predictTimeout = 5 * time.Second
)

// changes is the list of the changes that viewers asked for.
type changes struct {
	control  Control
	readOnly bool
	steps    *stepRing
	lease    *lease
	turn     chan struct{} // one item while a change is being made

	mu      sync.Mutex // never taken by the program
	list    []trace.Change
	ids     int64
	version int64 // grows whenever the list differs

	waiting atomic.Pointer[[]*awaited]

	asking  sync.Mutex // never taken by the program
	asked   []trace.Option
	edition edition // what asked is of
}

// edition changes when the options may have changed.
type edition struct{ changes, steps int64 }

func (c *changes) init(o Options, steps *stepRing) {
	c.control, c.readOnly, c.steps, c.lease = o.Control, o.ReadOnly, steps, newLease()
	c.turn = make(chan struct{}, 1)
}

// options returns what may be changed. The list must not be changed. The
// program is asked once for all viewers, when a change or a step may have made
// it another.
func (c *changes) options() []trace.Option {
	if c.control == nil {
		return nil
	}
	_, version := c.view()
	now := edition{version, c.steps.end()}
	c.asking.Lock()
	defer c.asking.Unlock()
	if c.asked == nil || c.edition != now {
		c.asked, c.edition = append([]trace.Option{}, c.control.Options()...), now
	}
	return c.asked
}

// allowed reports whether viewers may change anything.
func (c *changes) allowed() bool { return c.control != nil && !c.readOnly }

// view returns the changes and a number that is another whenever they are. The
// list must not be changed.
func (c *changes) view() ([]trace.Change, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	return c.list, c.version
}

// update replaces the list by one in which entry id is another: lists that
// were handed out never change.
func (c *changes) update(id int64, change func(*trace.Change)) {
	c.list = slices.Clone(c.list)
	for i := range c.list {
		if c.list[i].ID == id {
			change(&c.list[i])
		}
	}
	c.version++
}

func (c *changes) add(e trace.Change) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids++
	e.ID = c.ids
	list := slices.Clone(c.list)
	if len(list) >= changesKept {
		oldest := max(0, slices.IndexFunc(list, func(e trace.Change) bool { return e.State != trace.Pending }))
		list = slices.Delete(list, oldest, oldest+1)
	}
	c.list = append(list, e)
	c.version++
	return e.ID
}

func (c *changes) edit(id int64, change func(*trace.Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.update(id, change)
}

// refuse notes that the program did not receive a change, or refused it, and stops
// waiting for a step that shows it.
func (c *changes) refuse(id int64, reason string) trace.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expect(slices.DeleteFunc(c.awaiting(), func(w *awaited) bool { return w.id == id }))
	c.update(id, func(e *trace.Change) { e.State, e.Reason = trace.Refused, reason })
	return c.entry(id)
}

func (c *changes) entry(id int64) trace.Change {
	for _, e := range c.list {
		if e.ID == id {
			return e
		}
	}
	return trace.Change{}
}
