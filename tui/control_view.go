package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/experiments"
	"github.com/memtop/memtop/tui/screen"
)

// questionKey answers the question whether a key may change the running program.
// It ignores all other keys, so that nothing changes before the user has read the
// question.
func (m *Model) questionKey(msg tea.KeyPressMsg) tea.Cmd {
	c := &m.control
	switch msg.String() {
	case "y", "Y":
		if m.tooSmall() {
			return nil // there is no room to read it
		}
		w := *c.asking
		c.asking, c.agreed = nil, true
		return c.add(w)
	case "n", "N", "esc", "q":
		c.asking = nil
	}
	return nil
}

// The size of a question, with its frame.
const (
	questionWidth = 58
	questionRows  = 7
)

// question lays the open question over what the body shows.
func (m *Model) question(body string, w, h int) string {
	c := screen.New(m.theme, min(questionWidth, w), min(questionRows, h))
	switch frame(c); {
	case m.leaving != nil:
		m.drawLeaving(c)
	case m.control.asking != nil:
		m.drawQuestion(c)
	default:
		return body
	}
	x, y := (w-c.Width())/2, (h-c.Height())/2
	lines, box := strings.Split(body, "\n"), strings.Split(c.String(), "\n")
	for i, line := range box {
		if y+i < len(lines) {
			lines[y+i] = overlay(lines[y+i], line, x, c.Width())
		}
	}
	return strings.Join(lines, "\n")
}

// overlay puts n cells over those from column x of a styled line.
func overlay(line, over string, x, n int) string {
	left := ansi.Truncate(line, x, "")
	return left + strings.Repeat(" ", max(x-lipgloss.Width(left), 0)) + "\x1b[m" + over + ansi.TruncateLeft(line, x+n, "")
}

func (m *Model) drawQuestion(c screen.Canvas) {
	w := m.control.asking
	name := w.by
	if name == "" {
		name = "This"
	}
	whose := "the running job from its"
	if n := w.ranks; n > 0 {
		whose = "all " + screen.Count(n) + " ranks from their"
	}
	does := " changes " + whose + " next step on:"
	if w.once {
		does = " is done once, when the next step has ended:"
	}
	c.Fit(2, 1, c.Width()-4, name+does, screen.Plain)
	c.Fit(2, 2, c.Width()-4, w.change(), screen.Strong)
	c.Fit(2, 3, c.Width()-4, m.control.foreseen.text(), screen.Plain)
	drawAnswers(c, "y", "yes, and ask no more in this session", "n", "no")
}

// drawAnswers draws keys, each with what it does, on the last line of a question.
func drawAnswers(c screen.Canvas, answers ...string) {
	x := -1
	for i := 0; i < len(answers); i += 2 {
		x = c.Text(x+3, 5, answers[i], screen.Strong)
		x = c.Text(x+1, 5, answers[i+1], screen.Dim)
	}
}

// text says what the change would do.
func (f *foreseen) text() string {
	switch {
	case !f.answered:
		return "asking the program for the effect …"
	case f.prediction == nil:
		return "the program cannot predict the effect"
	}
	return strings.Join(predicted(f.prediction), " · ")
}

// frame draws a line around a canvas.
func frame(c screen.Canvas) {
	w, h := c.Width(), c.Height()
	for x := range w {
		c.Set(x, 0, '─', screen.Warn)
		c.Set(x, h-1, '─', screen.Warn)
	}
	for y := range h {
		c.Set(0, y, '│', screen.Warn)
		c.Set(w-1, y, '│', screen.Warn)
	}
	for _, corner := range [...]struct {
		x, y int
		r    rune
	}{{0, 0, '┌'}, {w - 1, 0, '┐'}, {0, h - 1, '└'}, {w - 1, h - 1, '┘'}} {
		c.Set(corner.x, corner.y, corner.r, screen.Warn)
	}
}

// change describes a wish, like "checkpoint none → block".
func (w *wish) change() string {
	if w.once {
		return w.key + " " + w.value
	}
	return w.key + " " + w.from + " → " + w.value
}

// where says which ranks a change affects.
func (w *wish) where() string {
	if w.ranks == 0 {
		return ""
	}
	return " in all " + screen.Count(w.ranks) + " ranks"
}

// shownNotice returns the notice that the bottom line shows, nil when it shows
// none.
func (m *Model) shownNotice() *notice {
	if t := m.control.notice; t != nil && !t.hidden && t.wish.file == m.file() {
		return t
	}
	return nil
}

// drawNotice draws as many parts of the notice as fit.
func (m *Model) drawNotice(c screen.Canvas, t *notice) {
	room := c.Width() - 2
	if c.Width() >= 100 {
		hint(c, c.Width()-7, *m.global.of("?"))
		room -= 8
	}
	parts := t.parts()
	if t.stage == failing || t.stage == refused {
		parts = worded(parts, room)
	}
	x := 1
	for i, part := range parts {
		if i > 0 {
			if x+3+screen.Width(part) > room+1 && i > 1 {
				return
			}
			x = c.Text(x, 0, " · ", screen.Dim)
		}
		style := screen.Plain
		switch {
		case i == 1 || len(parts) == 1:
			style = stageStyle[t.stage]
		case i == 0:
			style = screen.Strong
		}
		c.Fit(x, 0, room+1-x, part, style)
		x += screen.Width(part)
	}
}

// worded leaves out the change if the reason needs its room: the user knows the
// key.
func worded(parts []string, room int) []string {
	if screen.Width(parts[0])+3+screen.Width(parts[1]) > room {
		return parts[1:]
	}
	return parts
}

var stageStyle = [...]screen.Style{
	sending: screen.Dim, failing: screen.Bad, waiting: screen.Title, refused: screen.Bad, applied: screen.Title,
	measured: screen.Strong, abandoned: screen.Warn,
}

// parts describes the result of the change, the most important part first.
func (t *notice) parts() []string {
	change := []string{t.wish.change() + t.wish.where()}
	switch t.stage {
	case sending:
		if t.wish.ranks > 0 {
			return append(change, "telling the ranks …")
		}
		return append(change, "telling the program …")
	case failing:
		return append(change, "not changed: "+t.err.Error())
	case refused:
		return append(change, "refused: "+t.change.Reason)
	case waiting:
		return append(append(change, "pending"), predicted(t.change.Predicted)...)
	case abandoned:
		return append(change, "never measured: the program is gone")
	case applied:
		progress := "measuring"
		if t.outcome.Needed > 0 {
			progress += " " + screen.Count(t.outcome.Settled) + "/" + screen.Count(t.outcome.Needed) + " steps"
		}
		return append(append(change, "applied at step "+screen.Count(int(t.change.Step)), progress), predicted(t.change.Predicted)...)
	default:
		change = append(change, "at step "+screen.Count(int(t.change.Step)))
		if t.before > 0 && t.after > 0 {
			change = append(change, "highest peak "+screen.Bytes(t.before)+" → "+screen.Bytes(t.after))
		}
		return append(change, experiments.Outcome(&t.outcome)...)
	}
}

// predicted says what a change should do.
func predicted(p *trace.Prediction) []string {
	if p == nil {
		return nil
	}
	if p.Reserved != nil {
		return []string{"predicted reserved " + experiments.Signed(analysis.ReservedQuantity, float64(*p.Reserved))}
	}
	return []string{"predicted peak " + experiments.Signed(analysis.PeakAllocatedQuantity, float64(p.PeakAllocated))}
}
