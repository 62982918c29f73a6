package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/page"
)

// bind adapts the keys to the shown file: for a running program, End goes to the
// present.
func (m *Model) bind() {
	m.global.End.SetKeys("$")
	m.global.End.SetHelp("$", "cursor to the end")
	if v := m.file().current(); v != nil && v.scene.Live() != nil {
		m.global.End.SetKeys("$", "end")
		m.global.End.SetHelp("$ end", "cursor to the end; follow it")
	}
}

// globalKey handles the keys that every page shares.
func (m *Model) globalKey(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	g := &m.global
	switch {
	case matches(msg, g.Quit):
		return m.quit(tea.Quit), true
	case matches(msg, g.Suspend):
		return tea.Suspend, true
	case matches(msg, g.Redraw):
		return tea.ClearScreen, true
	case matches(msg, g.Help):
		m.help = m.newHelp()
		return nil, true
	case matches(msg, g.Back):
		m.back()
		return nil, true
	case matches(msg, g.NextFile):
		return m.neighbourFile(1), true
	case matches(msg, g.PreviousFile):
		return m.neighbourFile(-1), true
	case matches(msg, g.Device):
		return m.nextDevice(), true
	case matches(msg, g.Export):
		m.askWhere("Export to", ".html", "enter writes; the ending says the format", m.options.Export)
		return nil, true
	case matches(msg, g.WhatIf):
		return m.openWhatIf(), true
	case matches(msg, g.Save):
		m.askWhere("Save snapshot to", "-saved.pickle", "enter writes", m.options.Save)
		return nil, true
	}
	if name, ok := m.pageKey(msg); ok {
		return m.turn(name), true
	}
	return m.sceneKey(msg)
}

// pageKey returns the page that a key goes to.
func (m *Model) pageKey(msg tea.KeyPressMsg) (string, bool) {
	g := &m.global
	switch {
	case matches(msg, g.Next):
		return m.neighbour(1), true
	case matches(msg, g.Previous):
		return m.neighbour(-1), true
	}
	for i, b := range g.Pages {
		if matches(msg, b) {
			return tabs[i].name, true
		}
	}
	return "", false
}

// sceneKey moves the shared cursor.
func (m *Model) sceneKey(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	v := m.file().current()
	if v == nil {
		return m.waitingKey(msg), m.visible() == nil
	}
	g := &m.global
	switch {
	case matches(msg, g.Peak):
		v.scene.Move(v.scene.Summary.PeakEvent)
	case matches(msg, g.Start):
		v.scene.Move(-1)
	case matches(msg, g.End):
		v.scene.Follow()
	case matches(msg, g.OOM):
		return nextOOM(v.scene), true
	case matches(msg, g.Freeze):
		return m.freeze(), true
	case matches(msg, g.Maximise):
		if p := m.visible(); p != nil {
			p.Maximise()
		}
	default:
		return nil, false
	}
	return nil, true
}

// waitingKey handles Enter on the loading page after a failed load.
func (m *Model) waitingKey(msg tea.KeyPressMsg) tea.Cmd {
	f := m.file()
	if m.visible() == nil && msg.String() == "enter" && (f.state == failed || f.state == cancelled) {
		return m.load(f)
	}
	return nil
}

// nextOOM moves the cursor to the next out-of-memory event event, around the end.
func nextOOM(s *page.Scene) tea.Cmd {
	if len(s.OOMs) == 0 {
		return page.Say("no out-of-memory event in this trace")
	}
	for i := range s.OOMs {
		if s.OOMs[i].Event > s.Cursor() {
			s.Move(s.OOMs[i].Event)
			return nil
		}
	}
	s.Move(s.OOMs[0].Event)
	return nil
}

// quit stops running loads before the program ends. If changes stay, it asks first.
func (m *Model) quit(how tea.Cmd) tea.Cmd {
	if stays := m.staying(); m.leaving == nil && len(stays) > 0 && !m.tooSmall() {
		m.leaving = &leaving{how: how, stays: stays}
		return nil
	}
	for _, f := range m.files {
		if f.state == loading {
			f.stop()
		}
	}
	return how
}

// freeze stops the display of a running program, or continues it.
func (m *Model) freeze() tea.Cmd {
	f := m.file()
	if !f.grows() {
		return page.Say("a file does not move: there is nothing to freeze")
	}
	return f.freeze()
}

// back leaves, in this order: a running load, an open part of the page, a page to
// which another page led.
func (m *Model) back() {
	f := m.file()
	if f.state == loading && m.visible() == nil {
		f.stop()
		return
	}
	if p := m.visible(); p != nil && p.Back() {
		return
	}
	if n := len(m.trail); n > 0 {
		m.goTo(m.trail[n-1])
		m.trail = m.trail[:n-1]
	}
}

// goTo goes to a page, and remembers the one before for the next rank that is entered.
func (m *Model) goTo(name string) {
	if was := m.shown(); was != page.Ranks {
		m.job.inside = was
	}
	m.page = name
}

// turn goes to a page by its key; Esc does not come back from there. If the file
// has nothing for that page, turn says why.
func (m *Model) turn(name string) tea.Cmd {
	if why := m.lacks(name); why != "" {
		return page.Say(why)
	}
	m.goTo(name)
	m.trail = nil
	return nil
}

// neighbour returns the next page in a direction that the file has something for.
func (m *Model) neighbour(direction int) string {
	at := slices.IndexFunc(tabs, func(t tab) bool { return t.name == m.shown() })
	for {
		at = (at + direction + len(tabs)) % len(tabs)
		if m.lacks(tabs[at].name) == "" {
			return tabs[at].name
		}
	}
}

// lacks says why the shown file has nothing for a page, "" when it has something
// or that is unknown.
func (m *Model) lacks(name string) string {
	if name == page.Ranks {
		return m.job.page.Lacks()
	}
	v := m.file().current()
	if v == nil {
		return ""
	}
	return v.pages[name].Lacks()
}

// shown is the page on the screen. The overview replaces a page for which the
// file has nothing.
func (m *Model) shown() string {
	if m.lacks(m.page) != "" {
		return page.Overview
	}
	return m.page
}

// nextDevice goes to the next device of the file.
func (m *Model) nextDevice() tea.Cmd {
	f := m.file()
	if f.state != ready {
		return nil
	}
	if len(f.trace.Devices) < 2 {
		m.note = "this file has one device only"
		return nil
	}
	f.device, f.growth.behind = f.nextDevice(), f.grows()
	return f.index(m.theme)
}
