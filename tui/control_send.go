package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/trace"
)

// patience is how long a program may take to accept a change. It does so between
// two steps at the latest.
const patience = 30 * time.Second

// accepted is a change that the process with this number accepted. A program that was
// started again is another process.
type accepted struct {
	trace.Change
	pid int
}

// sentMsg brings the result of a sent wish.
type sentMsg struct {
	wish   wish
	change trace.Change
	err    error
}

// add puts a wish at the end of the queue, or replaces an unsent wish for the
// same setting, and sends the first.
func (c *control) add(w wish) tea.Cmd {
	c.touch(w)
	first := 0
	if c.sending {
		first = 1
	}
	for i := first; i < len(c.queue); i++ {
		if q := &c.queue[i]; q.file == w.file && q.key == w.key {
			q.value, q.by = w.value, w.by
			return nil
		}
	}
	c.queue = append(c.queue, w)
	return c.send()
}

// addAll adds several wishes.
func (c *control) addAll(wishes []wish) tea.Cmd {
	var all []tea.Cmd
	for _, w := range wishes {
		all = append(all, c.add(w))
	}
	return tea.Batch(all...)
}

// send sends the first wish in a command, unless one is on its way.
func (c *control) send() tea.Cmd {
	if c.sending || len(c.queue) == 0 {
		return nil
	}
	w := c.queue[0]
	to := w.file.controller()
	if to == nil {
		c.queue = c.queue[1:]
		return c.send()
	}
	c.sending = true
	c.notice = &notice{wish: w, before: peakOf(w.file)}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		change, err := to.Set(ctx, w.key, w.value)
		return sentMsg{w, change, err}
	}
}

// sent takes the result of the first wish and sends the next.
func (c *control) sent(msg sentMsg) tea.Cmd {
	c.sending, c.queue = false, slices.Delete(c.queue, 0, 1)
	if msg.err == nil {
		f := msg.wish.file
		c.asked[f] = append(c.asked[f], accepted{msg.change, f.source.Trace().Live.PID})
	}
	c.notice = &notice{wish: msg.wish, change: msg.change, err: msg.err, answered: true, before: c.notice.before}
	return c.send()
}

// peakOf returns the highest peak among the ranks of a file's job, each in its
// last step; 0 for a single program.
func peakOf(f *file) int64 {
	if f.job == nil {
		return 0
	}
	rows := f.job.Rows()
	if at := highest(rows); at >= 0 {
		return rows[at].PeakAllocated
	}
	return 0
}

// concerns reports whether a change of a file is on its way, or in the notice.
func (c *control) concerns(f *file) bool {
	return c.notice != nil && c.notice.wish.file == f || slices.ContainsFunc(c.queue, func(w wish) bool { return w.file == f }) ||
		c.asking != nil && c.asking.file == f
}

// changes returns the changes that the program has reported, then those that it
// has accepted and not reported yet.
func (c *control) changes(f *file) []trace.Change {
	live := f.source.Trace().Live
	list := slices.Clone(live.Changes)
	for _, a := range c.asked[f] {
		if a.pid == live.PID && !slices.ContainsFunc(list, func(c trace.Change) bool { return c.ID == a.ID }) {
			list = append(list, a.Change)
		}
	}
	for i := range c.queue {
		if w := &c.queue[i]; w.file == f {
			list = append(list, trace.Change{Key: w.key, From: w.from, To: w.value})
		}
	}
	return list
}

// next returns the value that a setting will have after all changes on their way.
func (c *control) next(f *file, o *trace.Option) string {
	value := o.Value
	reported := len(f.source.Trace().Live.Changes)
	for _, change := range c.changes(f)[reported:] {
		if change.Key == o.Key && change.State != trace.Refused {
			value = change.To
		}
	}
	return value
}
