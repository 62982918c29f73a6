package tui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/screen"
)

// # Leaving
//
// What a session changed in a running program stays changed when the session ends.
// So the first key that quits asks whether to undo it. Undoing ends the session when the
// program has accepted it; a second key that quits ends it at once.

// touched is a setting that this session changes, and its value before.
type touched struct {
	file     *file
	key, was string
}

// touch notes the value of a setting before its first change. An action leaves
// nothing. The ranks of a job have the same settings.
func (c *control) touch(w wish) {
	known := func(t touched) bool { return t.key == w.key && (t.file == w.file || w.file.job != nil) }
	if !w.once && !slices.ContainsFunc(c.touched, known) {
		c.touched = append(c.touched, touched{w.file, w.key, w.from})
	}
}

// leaving is the question what to do with the changes that stay.
type leaving struct {
	how     tea.Cmd // ends the session
	stays   []wish  // undo what stays changed
	undoing bool
	failure string // why it was not undone
}

// staying returns the changes that would undo what stays changed.
func (m *Model) staying() []wish {
	var back []wish
	for _, t := range m.control.touched {
		f := t.file
		if f.state != ready && f.job != nil { // a rank that was let go: another one knows
			f = m.file()
		}
		if m.options.Own || m.immovable(f, "") != "" {
			continue
		}
		if w, ok := m.control.wish(f, "", t.key, t.was); ok {
			back = append(back, w)
		}
	}
	return back
}

// Left says which settings this session leaves changed in the running program, ""
// for none. It is for the program that ran the screen.
func (m *Model) Left() string {
	if m.leaving == nil {
		return stayText(m.staying())
	}
	return stayText(m.leaving.stays)
}

func stayText(stays []wish) string {
	var all []string
	for i := range stays {
		w := &stays[i]
		all = append(all, w.key+"="+w.from+" (was "+w.value+")")
	}
	return strings.Join(all, ", ")
}

// leavingKey answers the question.
func (m *Model) leavingKey(msg tea.KeyPressMsg) tea.Cmd {
	switch l := m.leaving; msg.String() {
	case "q", "Q":
		return m.quit(l.how)
	case "u", "U":
		if !l.undoing {
			l.undoing, l.failure = true, ""
			return m.control.addAll(l.stays)
		}
	case "esc", "n", "N":
		m.leaving = nil // an undoing that was sent goes on
	}
	return nil
}

// undone ends the session when everything is undone, or says what failed.
func (m *Model) undone(msg sentMsg) tea.Cmd {
	l := m.leaving
	if l == nil || !l.undoing {
		return nil
	}
	switch {
	case msg.err != nil:
		l.failure = msg.err.Error()
	case msg.change.Reason != "":
		l.failure = msg.change.Reason
	}
	if m.control.sending {
		return nil
	}
	m.leaving = nil
	cmd := m.quit(l.how)
	if m.leaving != nil {
		m.leaving.failure = l.failure
	}
	return cmd
}

func (m *Model) drawLeaving(c screen.Canvas) {
	l := m.leaving
	first := &l.stays[0]
	where := "process " + strconv.Itoa(first.file.source.Trace().Live.PID)
	if first.ranks > 0 {
		where = "all " + screen.Count(first.ranks) + " ranks"
	}
	c.Fit(2, 1, c.Width()-4, "After quitting, this stays changed in "+where+":", screen.Plain)
	c.Fit(2, 2, c.Width()-4, stayText(l.stays), screen.Strong)
	switch {
	case l.undoing:
		c.Fit(2, 3, c.Width()-4, "undoing: waiting until it is accepted, at most 30 s each", screen.Dim)
	case l.failure != "":
		c.Fit(2, 3, c.Width()-4, "not undone: "+l.failure, screen.Bad)
	}
	drawAnswers(c, "u", "undo and quit", "q", "leave it and quit", "esc", "stay")
}
