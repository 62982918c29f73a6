package tui

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
)

// globalKey is a key that means the same on every page.
type globalKey struct {
	key.Binding
	page  func(m *Model) string  // the page that it goes to; nil if it does something else
	press func(m *Model) tea.Cmd // what it does
}

// globalKeys are all of them, in the order of help.
type globalKeys []globalKey

func newGlobalKeys() globalKeys {
	all := globalKeys{
		does("?", "help", "?", func(m *Model) tea.Cmd { m.help = m.newHelp(); return nil }),
		does("q", "quit", "q", func(m *Model) tea.Cmd { return m.quit(tea.Quit) }),
		does("esc", "back; cancel", "esc", func(m *Model) tea.Cmd { m.back(); return nil }),
		{keys.New("tab", "next page", "tab"), func(m *Model) string { return m.neighbour(1) }, nil},
		{keys.New("shift-tab", "previous page", "shift+tab"), func(m *Model) string { return m.neighbour(-1) }, nil},
	}
	for i, t := range tabs {
		number := keys.PageKey(i)
		all = append(all, globalKey{keys.New(number, t.title(), number), func(*Model) string { return t.name }, nil})
	}
	return append(all,
		does("]", "next file", "]", func(m *Model) tea.Cmd { return m.neighbourFile(1) }),
		does("[", "previous file", "[", func(m *Model) tea.Cmd { return m.neighbourFile(-1) }),
		does("d", "next device", "d", (*Model).nextDevice),
		does("p", "cursor to the peak", "p", moves(func(s *page.Scene) int { return s.Summary.PeakEvent })),
		does("o", "cursor to the next out-of-memory event", "o", (*Model).nextOOM),
		does("^", "cursor before the first event", "^", moves(func(*page.Scene) int { return -1 })),
		does("$", "cursor to the end", "$", moves((*page.Scene).Last)),
		does("z", "maximise the pane", "z", func(m *Model) tea.Cmd { m.maximise(); return nil }),
		does("space", "freeze or continue the live display", "space", (*Model).freeze),
		does("w", "what if: other allocator settings", "w", (*Model).openWhatIf),
		does("x", "export to another format", "x", func(m *Model) tea.Cmd {
			return m.askWhere("Export to", ".html", "enter writes; the ending says the format", m.options.Export)
		}),
		does("s", "save as a PyTorch snapshot", "s", func(m *Model) tea.Cmd {
			return m.askWhere("Save snapshot to", "-saved.pickle", "enter writes", m.options.Save)
		}),
		does("ctrl-z", "suspend", "ctrl+z", func(*Model) tea.Cmd { return tea.Suspend }),
		does("ctrl-l", "redraw", "ctrl+l", func(*Model) tea.Cmd { return tea.ClearScreen }),
		does("ctrl-c", "interrupt", "ctrl+c", func(m *Model) tea.Cmd { return m.quit(tea.Interrupt) }),
	)
}

func does(shown, what, name string, press func(*Model) tea.Cmd) globalKey {
	return globalKey{keys.New(shown, what, name), nil, press}
}

// moves is the action of a key that moves the shared cursor, if there is one.
func moves(to func(*page.Scene) int) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		if v := m.file().current(); v != nil {
			v.scene.Move(to(v.scene))
		}
		return nil
	}
}

// of returns the binding of a key by its name.
func (g globalKeys) of(name string) *key.Binding {
	for i := range g {
		if slices.Contains(g[i].Keys(), name) {
			return &g[i].Binding
		}
	}
	panic("tui: there is no key " + name)
}

// pressed returns the key of a message, nil for none.
func (g globalKeys) pressed(msg tea.KeyPressMsg) *globalKey {
	for i := range g {
		if matches(msg, g[i].Binding) {
			return &g[i]
		}
	}
	return nil
}

// bind adapts the keys to the shown file: for a running program, End goes to the
// present.
func (m *Model) bind() {
	end := m.global.of("$")
	end.SetKeys("$")
	end.SetHelp("$", "cursor to the end")
	if v := m.file().current(); v != nil && v.scene.Live() != nil {
		end.SetKeys("$", "end")
		end.SetHelp("$ end", "cursor to the end; follow it")
	}
}

// globalKey handles the keys that every page shares.
func (m *Model) globalKey(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	k := m.global.pressed(msg)
	switch {
	case k == nil && m.visible() == nil:
		return m.waitingKey(msg), true
	case k == nil:
		return nil, false
	case k.page != nil:
		return m.turn(k.page(m)), true
	}
	return k.press(m), true
}

func (m *Model) maximise() {
	if p := m.visible(); p != nil {
		p.Maximise()
	}
}

// waitingKey handles Enter on the loading page after a failed load.
func (m *Model) waitingKey(msg tea.KeyPressMsg) tea.Cmd {
	f := m.file()
	if m.visible() == nil && msg.String() == "enter" && (f.state == failed || f.state == cancelled) {
		return m.load(f)
	}
	return nil
}

// nextOOM moves the cursor to the next out-of-memory event, around the end.
func (m *Model) nextOOM() tea.Cmd {
	v := m.file().current()
	if v == nil {
		return nil
	}
	s := v.scene
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
	if f.current() == nil {
		return nil
	}
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
