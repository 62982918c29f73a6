package tui

import (
	"context"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/ask"
	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

// whatIf is the panel that shows how much memory the recorded requests would have
// needed under other settings of the allocator. It shows the trace as it was when
// the panel opened. The goroutine that updates the screen owns it.
type whatIf struct {
	open   bool
	ask    whatif.Ask
	replay *ask.One[whatIfQuestion, whatIfAnswer]
	asked  whatIfQuestion
	list   page.List
	motion keys.Motion
	copy   key.Binding
	close  []key.Binding
}

// whatIfQuestion names a device of a trace, which never changes.
type whatIfQuestion struct {
	trace  *trace.Trace
	device int
	event  int // the cursor: it chooses among several failed requests
}

type whatIfAnswer struct {
	*whatif.Answer
	err error
}

func newWhatIf(replay whatif.Ask, global globalKeys) whatIf {
	p := whatIf{
		ask: replay, motion: keys.NewMotion(), copy: keys.New("y", "copy the settings", "y"),
		close: []key.Binding{keys.New("w", "close", "w"), *global.of("esc"), *global.of("q")},
	}
	keys.Disable(&p.motion.Left, &p.motion.Right)
	p.forget()
	return p
}

// forget drops the answer and its trace.
func (p *whatIf) forget() {
	replay := p.ask
	p.asked = whatIfQuestion{}
	p.replay = ask.New(nil, func(ctx context.Context, q whatIfQuestion) whatIfAnswer {
		d := q.trace.Device(q.device)
		a, err := replay(ctx, whatif.Question{Trace: q.trace, Device: d, Event: q.event})
		return whatIfAnswer{a, err}
	})
}

// openWhatIf opens the panel on the device that is shown.
func (m *Model) openWhatIf() tea.Cmd {
	v := m.file().current()
	if v == nil {
		return page.Say("nothing is loaded yet")
	}
	p := &m.whatIf
	p.open, p.list = true, page.List{}
	p.asked = whatIfQuestion{m.file().trace, m.file().device, v.scene.Cursor()}
	return p.replay.Ask(p.asked)
}

// shut closes the panel. For a running program, opening it again asks a new
// question.
func (p *whatIf) shut() {
	if !p.open {
		return
	}
	p.open = false
	p.replay.Stop()
	if p.asked.trace.Info.Growing {
		p.forget()
	}
}

// rows returns the rows of the answer, nil before it.
func (p *whatIf) rows() []whatif.Row {
	if a, ok := p.answer(); ok && a.err == nil {
		return a.Rows()
	}
	return nil
}

// answer returns the answer to the last question.
func (p *whatIf) answer() (whatIfAnswer, bool) {
	a, ok := p.replay.Answer()
	return a, ok && p.replay.Fresh()
}

// whatIfKey handles a key while the panel is open, and reports whether it is the
// panel's. Keys that lead to another page close it.
func (m *Model) whatIfKey(msg tea.KeyPressMsg) (cmd tea.Cmd, mine bool) {
	switch k := m.global.pressed(msg); {
	case k != nil && k.page != nil:
		m.whatIf.shut()
		return nil, false
	case matches(msg, *m.global.of("?"), *m.global.of("ctrl+z"), *m.global.of("ctrl+l")):
		return nil, false
	}
	return m.whatIf.key(msg), true
}

func (p *whatIf) key(msg tea.KeyPressMsg) tea.Cmd {
	rows := p.rows()
	switch {
	case matches(msg, p.close...):
		p.shut()
	case matches(msg, p.copy) && p.list.Cursor < len(rows):
		return page.Copied(rows[p.list.Cursor].Variable(), "the settings")
	default:
		p.list.Resize(len(rows), len(rows)) // the view decides how many rows fit
		p.list.Key(msg, p.motion)
	}
	return nil
}

// mouse scrolls. The page under the panel gets no messages.
func (p *whatIf) mouse(msg tea.MouseMsg) {
	if wheel, ok := msg.(tea.MouseWheelMsg); ok {
		rows := len(p.rows())
		p.list.Resize(rows, rows)
		p.list.Wheel(wheel)
	}
}

// short returns the panel's keys for the bottom line.
func (p *whatIf) short() []key.Binding {
	return []key.Binding{p.close[0], p.motion.Up, p.motion.Down, p.copy}
}

// help returns the panel's keys for help.
func (p *whatIf) help() keys.Group {
	return keys.Group{Title: "What if", Bindings: append([]key.Binding{p.close[0], p.copy}, p.motion.Bindings()...)}
}
