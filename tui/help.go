package tui

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"memtop/tui/keys"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// help is the list of all keys, made from the bindings.
type help struct {
	groups []keys.Group
	list   page.List
	motion keys.Motion
	close  []key.Binding
}

func (m *Model) newHelp() *help {
	h := &help{motion: keys.NewMotion(), close: []key.Binding{m.global.Help, m.global.Back, m.global.Quit}}
	if p := m.visible(); p != nil {
		h.groups = append(h.groups, p.Help()...)
	}
	if g, ok := m.controlHelp(); ok {
		h.groups = append(h.groups, g)
	}
	h.groups = append(h.groups, keys.Group{Title: "Everywhere", Bindings: m.global.Bindings()})
	h.resize(m.w, m.h-frameRows)
	return h
}

// key scrolls, and reports whether the help is to be closed.
func (h *help) key(msg tea.KeyPressMsg) bool {
	switch {
	case key.Matches(msg, h.motion.Down):
		h.scroll(1)
	case key.Matches(msg, h.motion.Up):
		h.scroll(-1)
	case key.Matches(msg, h.motion.PageDown):
		h.scroll(h.list.Height)
	case key.Matches(msg, h.motion.PageUp):
		h.scroll(-h.list.Height)
	case key.Matches(msg, h.motion.Top):
		h.scroll(-h.list.Count)
	case key.Matches(msg, h.motion.Bottom):
		h.scroll(h.list.Count)
	default:
		return key.Matches(msg, h.close...)
	}
	return false
}

func (h *help) scroll(by int) {
	h.list.Offset = min(max(h.list.Offset+by, 0), max(h.list.Count-h.list.Height, 0))
}

// helpLine is one line: a title, a key, or nothing.
type helpLine struct {
	title string
	key   key.Help
}

func (h *help) lines() []helpLine {
	var lines []helpLine
	for _, g := range h.groups {
		if len(lines) > 0 {
			lines = append(lines, helpLine{})
		}
		lines = append(lines, helpLine{title: g.Title})
		for _, b := range g.Bindings {
			if b.Enabled() {
				lines = append(lines, helpLine{key: b.Help()})
			}
		}
	}
	return lines
}

// helpColumn is the least width of one column of keys.
const helpColumn = 64

func (h *help) columns(w int) int { return max((w-2)/helpColumn, 1) }

// resize lays the lines out in as many columns as fit.
func (h *help) resize(w, height int) {
	n := len(h.lines())
	columns := h.columns(w)
	h.list.Height, h.list.Count = height-2, (n+columns-1)/columns
	h.scroll(0)
}

func (h *help) view(t *screen.Theme, w, height int) string {
	c := screen.New(t, w, height)
	c.Rule(0, "Keys", "? or esc closes", true)
	lines := h.lines()
	column := (w - 2) / h.columns(w)
	rows := (len(lines) + h.columns(w) - 1) / h.columns(w)
	for i, line := range lines {
		x, y := 2+i/rows*column, 2+i%rows-h.list.Offset
		if y < 2 {
			continue
		}
		if line.title != "" {
			c.Text(x, y, line.title, screen.Title)
			continue
		}
		c.Fit(x, y, 10, line.key.Key, screen.Strong)
		c.Fit(x+11, y, column-13, line.key.Desc, screen.Plain)
	}
	if h.list.Offset+h.list.Height < h.list.Count {
		c.Right(0, height-1, w, " ↓ more ", screen.Dim)
	}
	return c.String()
}
