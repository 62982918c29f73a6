package tui

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
)

// notice is a change that the bottom line reports on.
type notice struct {
	wish     wish
	answered bool // the program took it, or err says why not
	err      error
	change   trace.Change // as the program now reports it
	outcome  analysis.Experiment
	stage    stage
	since    time.Time // when the change reached this stage
	hidden   bool      // hidden until the next stage, because the user has read it
	// before and after are the highest peaks of all ranks, in bytes; 0 for a single
	// program.
	before, after int64
}

// stage is the progress of a change.
type stage uint8

const (
	sending stage = iota
	failing
	waiting
	refused
	applied
	measured
	abandoned // the program ended before the change was measured
)

// readingTime is how long a line stays at least before a key hides it.
const readingTime = 3 * time.Second

// outcomeQuestion asks what a change did, judged by the steps so far.
type outcomeQuestion struct {
	trace  *trace.Trace
	device int
	change int64
}

func newOutcomes() *ask.One[outcomeQuestion, analysis.Experiment] {
	return ask.New(nil, func(_ context.Context, q outcomeQuestion) analysis.Experiment {
		all := analysis.Experiments(q.trace, q.device)
		if i := slices.IndexFunc(all, func(e analysis.Experiment) bool { return e.ID == q.change }); i >= 0 {
			return all[i]
		}
		return analysis.Experiment{}
	})
}

// lookMsg says that it is time to check the last change.
type lookMsg struct{}

// look waits a while, then sends a lookMsg.
func look() tea.Cmd {
	return tea.Tick(500*time.Millisecond, func(time.Time) tea.Msg { return lookMsg{} })
}

// lookAgain checks later when nothing else will: a frozen screen gets no news.
func (m *Model) lookAgain(t *notice) tea.Cmd {
	c := &m.control
	if c.looking || !t.wish.file.growth.frozen || t.stage != waiting && t.stage != applied {
		return nil
	}
	c.looking = true
	return c.look()
}

// follow updates the notice of the last change. The model calls it after every
// message.
func (m *Model) follow() tea.Cmd {
	t := m.control.notice
	if t == nil || !t.answered || t.stage == measured {
		return nil
	}
	if t.err != nil {
		t.come(failing, m.now())
		return nil
	}
	now := t.wish.file.source.Trace()
	if i := slices.IndexFunc(now.Live.Changes, func(c trace.Change) bool { return c.ID == t.change.ID }); i >= 0 {
		t.change = now.Live.Changes[i]
	}
	cmd := m.measure(t, now)
	t.after = peakOf(t.wish.file)
	if t.come(t.next(now.Live.Connected), m.now()); t.stage == measured {
		m.control.outcomes, m.control.lastAsked = newOutcomes(), outcomeQuestion{} // they hold a trace
	}
	return tea.Batch(cmd, m.lookAgain(t))
}

// measure asks what an applied change did, once for every step.
func (m *Model) measure(t *notice, now *trace.Trace) tea.Cmd {
	if t.change.State != trace.Applied {
		return nil
	}
	c := &m.control
	if e, ok := c.outcomes.Answer(); ok && e.ID == t.change.ID {
		t.outcome = e
	}
	f := t.wish.file
	q := outcomeQuestion{now, f.device, t.change.ID}
	if last := c.lastAsked; last.trace != nil && last.change == q.change && last.device == q.device && len(last.trace.Steps) == len(now.Steps) {
		q = last
	}
	c.lastAsked = q
	return c.outcomes.Ask(q)
}

// next returns the change's current stage.
func (t *notice) next(connected bool) stage {
	switch {
	case t.change.State == trace.Refused:
		return refused
	case t.change.State == trace.Applied && t.outcome.ID == t.change.ID && t.outcome.Done():
		return measured
	case !connected:
		return abandoned
	case t.change.State == trace.Applied:
		return applied
	default:
		return waiting
	}
}

// come enters a stage and shows the line again.
func (t *notice) come(to stage, now time.Time) {
	if t.stage != to {
		t.stage, t.since, t.hidden = to, now, false
	}
}

// read hides the line at a key, once there was time to read it.
func (t *notice) read(now time.Time) {
	if t != nil && t.stage != sending && now.Sub(t.since) >= readingTime {
		t.hidden = true
	}
}
