package probe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"memtop/snapshots/trace"
)

// Changes
//
// A change is noted as pending, then predicted, then handed to the program, in
// that order and one at a time, all on the asking viewer's goroutine. It is
// applied at the first step that reports its value; Step notes that with a few
// comparisons and without a lock. One that was asked for again before a step used
// it is refused: no step will tell of it. So is one that the program has taken
// back, see [Probe.Refuse].

const (
	// changesKept bounds the list; the oldest that are settled go first.
	changesKept = 512
	// changesWaiting bounds those that no step has shown yet.
	changesWaiting = 64
	// predictTimeout is how long a prediction may hold up a change.
	predictTimeout = 5 * time.Second
)

// changes is the list of all that viewers wanted otherwise.
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

// edition tells when the options may be others.
type edition struct{ changes, steps int64 }

// awaited is a change that a step is to show.
type awaited struct {
	id         int64
	key, value string
	step       atomic.Int64           // the first that showed it, 0 for none so far
	refused    atomic.Pointer[string] // why no step will; nil when none failed
}

func (c *changes) init(o Options, steps *stepRing) {
	c.control, c.readOnly, c.steps, c.lease = o.Control, o.ReadOnly, steps, newLease()
	c.turn = make(chan struct{}, 1)
}

// stepped is called by the program at the end of each step, when the step can
// be found in the ring.
func (c *changes) stepped(s *trace.Step) {
	if waiting := c.waiting.Load(); waiting != nil {
		for _, w := range *waiting {
			w.stepped(s)
		}
	}
}

// refused is called by the program when it could not use what it had taken.
func (c *changes) refused(reason string, keys []string) {
	if waiting := c.waiting.Load(); waiting != nil {
		for _, w := range *waiting {
			if slices.Contains(keys, w.key) {
				w.refused.Store(&reason)
			}
		}
	}
}

// stepped notes the first step that shows the value.
func (w *awaited) stepped(s *trace.Step) {
	if !slices.Contains(s.Settings, trace.Value{Key: w.key, Value: w.value}) {
		return
	}
	for old := w.step.Load(); old == 0 || s.Number < old; old = w.step.Load() {
		if w.step.CompareAndSwap(old, s.Number) {
			return
		}
	}
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

// settle notes which awaited changes a step has shown, and with each of these
// that earlier ones of its setting will not be shown any more.
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

// set makes one change and returns what has become of it. An error says that
// ctx was done first.
func (c *changes) set(ctx context.Context, key, value string) (trace.Change, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return trace.Change{}, ctx.Err()
	}
	option, reason := c.find(key, value)
	if reason == "" && len(c.awaiting()) >= changesWaiting {
		reason = fmt.Sprintf("%d changes wait for a step already", changesWaiting)
	}
	id := c.add(trace.Change{
		Time: time.Now().UnixMicro(), Key: key, From: option.Value, To: value,
	})
	if reason != "" {
		return c.refuse(id, reason), nil
	}
	if p := c.predict(ctx, key, value); p != nil {
		c.edit(id, func(e *trace.Change) { e.Predicted = p })
	}
	if err := ctx.Err(); err != nil {
		return c.refuse(id, "whoever asked for it left before the program was told"), err
	}
	since := c.steps.end()
	if err := c.control.Set(key, value); err != nil {
		return c.refuse(id, err.Error()), nil
	}
	return c.accepted(id, key, value, since), nil
}

// find returns the option, and why it cannot take the value.
func (c *changes) find(key, value string) (o trace.Option, reason string) {
	options := c.control.Options()
	i := slices.IndexFunc(options, func(o trace.Option) bool { return o.Key == key })
	if i < 0 {
		return o, fmt.Sprintf("there is no setting %q", key)
	}
	if o = options[i]; !o.Free && !slices.Contains(o.Choices, value) {
		return o, fmt.Sprintf("%s takes one of %q", key, o.Choices)
	}
	return o, ""
}

// predict asks the program what the change would do; nil when it cannot say.
func (c *changes) predict(ctx context.Context, key, value string) *trace.Prediction {
	ctx, cancel := context.WithTimeout(ctx, predictTimeout)
	defer cancel()
	p, err := c.control.Predict(ctx, key, value)
	if err != nil {
		return nil
	}
	return p
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

func (c *changes) refuse(id int64, reason string) trace.Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.update(id, func(e *trace.Change) { e.State, e.Reason = trace.Refused, reason })
	return c.entry(id)
}

// accepted notes that the program has taken the value, in the spelling it
// gives it, and awaits the step that shows it. A step that ended meanwhile, one
// from number since on, counts too.
func (c *changes) accepted(id int64, key, value string, since int64) trace.Change {
	if option, _ := c.find(key, value); option.Value != "" {
		value = option.Value
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.update(id, func(e *trace.Change) { e.To = value })
	w := &awaited{id: id, key: key, value: value}
	c.expect(append(c.awaiting(), w))
	for at := since; at < c.steps.end(); at++ {
		if s, _ := c.steps.read(at); s != nil {
			w.stepped(s)
		}
	}
	c.settle()
	return c.entry(id)
}

// awaiting returns a copy of the list of what is waited for.
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

func (c *changes) entry(id int64) trace.Change {
	for _, e := range c.list {
		if e.ID == id {
			return e
		}
	}
	return trace.Change{}
}

// waitPoll is how often a request that waits for its changes looks at them.
const waitPoll = 20 * time.Millisecond

// wait returns when none of the changes is pending any more, or d has passed.
func (c *changes) wait(ctx context.Context, ids []int64, d time.Duration) {
	if d <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	poll := time.NewTicker(waitPoll)
	defer poll.Stop()
	for c.pending(ids) {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

func (c *changes) pending(ids []int64) bool {
	list, _ := c.view()
	return slices.ContainsFunc(list, func(e trace.Change) bool {
		return e.State == trace.Pending && slices.Contains(ids, e.ID)
	})
}
