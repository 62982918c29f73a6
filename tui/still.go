package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// # A screen that stands still
//
// When old events of a running program are dropped, the others get new numbers,
// and all earlier answers of pages are dropped: together with the new index they
// would be wrong. Until the visible page has its answers again, some hundredths
// of a second later, the last frame stays and keys wait.

// still is the state of a screen that stands still; the zero value is a moving
// screen.
type still struct {
	frame string
	since time.Time
	waits []tea.Msg // keys and the mouse
}

// longestStill is the time after which the screen continues, even with missing
// answers.
const longestStill = 500 * time.Millisecond

// replaced switches to a new index while the screen stands still.
func (m *Model) replaced(msg replacedMsg) {
	if m.still.frame == "" && msg.file == m.file() {
		m.still = still{frame: m.text(), since: m.now()}
	}
	msg.file.replaced(msg)
}

// holds keeps a user's message until the screen continues.
func (m *Model) holds(msg tea.Msg) bool {
	if m.still.frame == "" {
		return false
	}
	switch msg.(type) {
	case tea.WindowSizeMsg:
		m.still.since = time.Time{} // the old frame has another size
	case tea.KeyPressMsg, tea.MouseMsg, tea.PasteMsg:
		m.still.waits = append(m.still.waits, msg)
		return true
	}
	return false
}

// goOn ends the standstill once all answers have arrived.
func (m *Model) goOn() tea.Cmd {
	if m.still.frame == "" {
		return nil
	}
	v := m.file().current()
	if v != nil && !v.scene.Gate.Idle() && m.now().Sub(m.still.since) < longestStill {
		return nil
	}
	waits := m.still.waits
	m.still = still{}
	cmds := []tea.Cmd{m.catchUp()}
	for _, msg := range waits {
		cmds = append(cmds, m.route(msg))
	}
	return tea.Batch(append(cmds, m.refresh())...)
}
