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
// The goroutine of the viewer's request notes a change as pending, then asks for
// its prediction, then hands it to the program. It does so for one change at a
// time. A change is applied at the first step that reports its value; Step notes
// that with a few comparisons and without a lock. A change is refused when a
// viewer changes the same setting again before a step used it: no step will show
// it. It is also refused when the program takes it back, see [Probe.Refuse].

const (
	// changesKept bounds the list. The oldest settled changes are dropped first.
	changesKept = 512
	// changesWaiting bounds the changes that no step has shown yet.
	changesWaiting = 64
	// predictTimeout is how long a prediction may hold up a change.
	predictTimeout = 5 * time.Second
)

// changes is the list of changes that viewers asked for.
type changes struct {
	control  Control
	readOnly bool
	steps    *stepRing
	lease    *lease
	turn     chan struct{} // one item while a change is under way

	mu      sync.Mutex // never taken by the program
	list    []trace.Change
	ids     int64
	version int64 // grows whenever the list differs

	waiting atomic.Pointer[[]*awaited]

	asking  sync.Mutex // never taken by the program
	asked   []trace.Option
	edition edition // the edition of asked
}

// edition changes when the options may have changed.
type edition struct{ changes, steps int64 }

func (c *changes) init(o Options, steps *stepRing) {
	c.control, c.readOnly, c.steps, c.lease = o.Control, o.ReadOnly, steps, newLease()
	c.turn = make(chan struct{}, 1)
}

// options returns the settings that viewers may change. The caller must not
// modify the list. The probe asks the program once for all viewers, when a change
// or a step may have changed the list.
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

// renew notes that the options differ.
func (c *changes) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
}

// view returns the changes and their version, which grows with every difference.
// The caller must not modify the list.
func (c *changes) view() ([]trace.Change, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	return c.list, c.version
}

// update replaces the list by a copy with another entry id. A list that view
// returned never changes.
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
