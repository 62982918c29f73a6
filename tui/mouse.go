package tui

import (
	tea "charm.land/bubbletea/v2"
)

// mouse gives a mouse message to the part of the screen under it. Tabs are
// clicked, the wheel scrolls help, and the page gets the rest in its own
// coordinates.
func (m *Model) mouse(msg tea.MouseMsg) tea.Cmd {
	at := msg.Mouse()
	if m.leaving != nil {
		return nil
	}
	if m.help != nil {
		m.helpMouse(msg)
		return nil
	}
	if at.Y < headerRows {
		if _, ok := msg.(tea.MouseClickMsg); ok && at.Y == 0 {
			m.whatIf.shut()
			m.clickTab(at.X)
		}
		return nil
	}
	if m.whatIf.open {
		m.whatIf.mouse(msg)
		return nil
	}
	p := m.visible()
	if p == nil || m.prompt() != nil || m.control.asking != nil {
		return nil
	}
	at.Y -= headerRows
	switch msg.(type) {
	case tea.MouseClickMsg:
		m.note = ""
		return p.Update(tea.MouseClickMsg(at))
	case tea.MouseWheelMsg:
		return p.Update(tea.MouseWheelMsg(at))
	case tea.MouseMotionMsg:
		return p.Update(tea.MouseMotionMsg(at))
	case tea.MouseReleaseMsg:
		return p.Update(tea.MouseReleaseMsg(at))
	}
	return nil
}

func (m *Model) helpMouse(msg tea.MouseMsg) {
	switch msg := msg.(type) {
	case tea.MouseWheelMsg:
		m.help.text.Wheel(msg)
	case tea.MouseClickMsg:
		m.help = nil
	}
}

func (m *Model) clickTab(x int) {
	for _, t := range m.tabRow() {
		if x >= t.from && x < t.to {
			_ = m.turn(t.name) // only pages with content have a tab
		}
	}
}
