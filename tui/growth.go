package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// growth keeps the screen up to date with a growing file. One command waits for
// news. The model takes the news at the next message when no question reads the
// index, so that a slow question slows down the screen and never the process.
type growth struct {
	waiting bool // a command waits for news
	ended   bool // the source has ended
	behind  bool // the shown view has not taken the newest trace
	making  bool // a command makes the index of a trace that is no continuation
	frozen  bool // the user froze the screen
	pausing bool // a tick is on its way for the visible page
	took    time.Time
	rest    time.Duration // pause after the last trace before the next is taken
}

// changedMsg says that a source has news, or has ended.
type changedMsg struct {
	file    *file
	attempt int
	more    bool
}

// replacedMsg brings the index of a trace that did not continue the last.
type replacedMsg struct {
	file    *file
	attempt int
	index   *analysis.Index
}

// grows reports whether the file is a process.
func (f *file) grows() bool {
	_, ok := f.source.(trace.Growing)
	return ok
}

// wait returns the command that waits for news, unless one does. A frozen
// screen does not even wait.
func (f *file) wait() tea.Cmd {
	g := &f.growth
	source, ok := f.source.(trace.Growing)
	if !ok || g.waiting || g.ended || g.frozen {
		return nil
	}
	g.waiting = true
	return f.listen(f, source)
}

// listen returns the command that waits for news of a source.
func listen(f *file, source trace.Growing) tea.Cmd {
	attempt := f.attempt
	return func() tea.Msg {
		_, more := <-source.Changed()
		return changedMsg{f, attempt, more}
	}
}

// changed notes that the source has news.
func (f *file) changed(msg changedMsg, theme *screen.Theme) tea.Cmd {
	if msg.attempt != f.attempt {
		return nil
	}
	f.growth.waiting, f.growth.ended = false, !msg.more
	f.growth.behind = true
	if f.state == empty && !f.growth.frozen {
		f.trace, f.growth.behind = f.source.Trace(), false
		return tea.Batch(f.begin(theme), f.wait())
	}
	return nil
}

// catchUp takes the newest trace if no question reads the index, and waits for
// the next. The model calls it after every message. It takes traces at least pace
// apart.
func (f *file) catchUp(now time.Time, pace time.Duration) tea.Cmd {
	g, v := &f.growth, f.current()
	if v == nil || !g.behind || g.frozen || g.making {
		return nil
	}
	if early := max(pace, g.rest) - now.Sub(g.took); early > 0 {
		return f.pause(early)
	}
	t := f.source.Trace()
	switch v.scene.Advance(t) {
	case page.Busy:
		return nil
	case page.Broken:
		if d := t.Device(f.device); d != nil {
			g.making = true
			return tea.Batch(f.remake(t, d), f.wait())
		}
	case page.Taken:
	}
	f.trace, g.behind, g.took = t, false, now
	g.rest = restAfter(v.scene.Gate.Spent())
	return f.wait()
}

// When questions take long, because very many blocks are live, the model asks
// fewer. It rests several times as long as they took, so that watching takes a
// small part of a core, but not so long that the screen seems to stand still.
const (
	restFactor  = 8
	longestRest = 500 * time.Millisecond
)

// restAfter returns how long to rest after questions that took that long.
func restAfter(spent time.Duration) time.Duration { return min(restFactor*spent, longestRest) }

// pause asks for a message when it is time to catch up.
func (f *file) pause(left time.Duration) tea.Cmd {
	if f.growth.pausing {
		return nil
	}
	f.growth.pausing = true
	return tea.Tick(left, func(time.Time) tea.Msg { return paceMsg{f} })
}

// paceMsg says that it is time to catch up.
type paceMsg struct{ file *file }

// remake makes an index in a command.
func (f *file) remake(t *trace.Trace, d *trace.Device) tea.Cmd {
	attempt := f.attempt
	return func() tea.Msg { return replacedMsg{f, attempt, analysis.NewIndex(t, d)} }
}

// replaced switches to a new index. The pages keep their display.
func (f *file) replaced(msg replacedMsg) {
	if msg.attempt != f.attempt {
		return
	}
	f.growth.making = false
	v := f.views[msg.index.Device().ID]
	f.trace = msg.index.Trace()
	earlier := v.scene.Replace(msg.index)
	for _, p := range v.pages {
		p.Rebase(earlier)
	}
}

// freeze stops the screen, or continues it with the newest trace.
func (f *file) freeze() tea.Cmd {
	f.growth.frozen = !f.growth.frozen
	if f.growth.frozen {
		return nil
	}
	return f.wait()
}
