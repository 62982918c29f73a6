package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// set makes one change and returns its result. An error says that ctx was done
// first.
func (c *changes) set(ctx context.Context, key, value string, at int64) (trace.Change, error) {
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
	if p := c.predict(ctx, []trace.Value{{Key: key, Value: value}}); p != nil {
		c.edit(id, func(e *trace.Change) { e.Predicted = p })
	}
	if err := ctx.Err(); err != nil {
		return c.refuse(id, "the viewer left before the program received the change"), err
	}
	w, since := &awaited{id: id, key: key, value: value, at: at}, c.steps.end()
	c.await(w) // before Set, because the next step may end before Set returns
	if err := c.hand(key, value, at); err != nil {
		return c.refuse(id, err.Error()), nil
	}
	return c.accepted(w, since), nil
}

// hand gives the program a change.
func (c *changes) hand(key, value string, at int64) error {
	if timed, ok := c.control.(Timed); ok && at > 0 {
		return timed.SetAt(key, value, at)
	}
	return c.control.Set(key, value)
}

// find returns the option, and why it cannot take the value, "" if it can.
func (c *changes) find(key, value string) (o trace.Option, reason string) {
	options := c.control.Options()
	i := slices.IndexFunc(options, func(o trace.Option) bool { return o.Key == key })
	if i < 0 {
		return o, fmt.Sprintf("there is no setting %q", key)
	}
	if o = options[i]; !o.Free && !slices.Contains(o.Choices, value) {
		return o, fmt.Sprintf("%s takes %s", key, strings.Join(o.Choices, ", "))
	}
	return o, ""
}

// foresee predicts changes without making them. It takes turns with changes that
// are made. An error says that ctx was done first.
func (c *changes) foresee(ctx context.Context, q question) (answer protocol.Prediction, err error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return answer, ctx.Err()
	}
	if len(q.changes) > 0 {
		answer.Predicted = c.predict(ctx, q.changes)
	}
	if q.room {
		answer.Headroom = c.room(ctx, q)
	}
	return answer, nil
}

// room asks the program how many samples fit; nil when it cannot say.
func (c *changes) room(ctx context.Context, q question) *trace.Headroom {
	control, ok := c.control.(Roomer)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, predictTimeout)
	defer cancel()
	h, err := control.Headroom(ctx, q.changes, q.capacity)
	if err != nil {
		return nil
	}
	return h
}

// predict asks the program what the changes would do together; nil when it cannot
// say.
func (c *changes) predict(ctx context.Context, wanted []trace.Value) *trace.Prediction {
	ctx, cancel := context.WithTimeout(ctx, predictTimeout)
	defer cancel()
	p, err := c.control.Predict(ctx, wanted)
	if err != nil {
		return nil
	}
	return p
}

// accepted notes that the program has taken the value. The program may spell the
// value in another way, and steps from number since on may already have shown
// that spelling.
func (c *changes) accepted(w *awaited, since int64) trace.Change {
	option := trace.Option{}
	if w.at == 0 { // else the options show another step's value
		option, _ = c.find(w.key, w.value)
	}
	if spelled := option.Value; spelled != "" && spelled != w.value && !option.IsAction(spelled) {
		w.spelled.Store(&spelled)
		for at := since; at < c.steps.end(); at++ {
			if s, _ := c.steps.read(at); s != nil {
				w.stepped(s)
			}
		}
		c.edit(w.id, func(e *trace.Change) { e.To = spelled })
	}
	w.taken.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	c.version++ // the options have changed
	return c.entry(w.id)
}

// waitPoll is how often a request that waits for its changes looks at them.
const waitPoll = 20 * time.Millisecond

// wait returns when no change is pending any more, or after d.
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
