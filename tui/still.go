package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// # A screen that stands still
//
// When old events of a running program are let go, the others get other numbers,
// and what pages were answered before is forgotten: drawn together with what is
// now it would be wrong. Until the visible page has its answers again, some
// hundredths of a second, the last frame stays and keys wait.

// still is a screen that stands still; the zero value is one that does not.
type still struct {
	frame string
	since time.Time
	waits []tea.Msg // keys and the mouse
}

// longestStill is after what time the screen goes on whatever is missing.
const longestStill = 500 * time.Millisecond

// replaced goes over to a new index while the screen stands still.
func (m *Model) replaced(msg replacedMsg) {
	if m.still.frame == "" && msg.file == m.file() {
		m.still = still{frame: m.text(), since: m.now()}
	}
	msg.file.replaced(msg)
}

// holds keeps a message of the reader's until the screen goes on.
func (m *Model) holds(msg tea.Msg) bool {
	if m.still.frame == "" {
		return false
	}
	switch msg.(type) {
	case tea.WindowSizeMsg:
		m.still.since = time.Time{} // the frame does not fit any more
	case tea.KeyPressMsg, tea.MouseMsg, tea.PasteMsg:
		m.still.waits = append(m.still.waits, msg)
		return true
	}
	return false
}

// goOn ends a stand once nothing is asked any more.
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
