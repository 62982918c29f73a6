package tui

import (
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// View draws the screen. It changes nothing.
func (m *Model) View() tea.View {
	v := tea.NewView(m.text())
	v.AltScreen = true
	v.WindowTitle = "memtop"
	if len(m.files) > 0 {
		v.WindowTitle = "memtop " + screen.Clean(m.file().name)
	}
	if !m.options.NoMouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	return v
}

// text returns the screen's lines, at most h of at most w cells.
func (m *Model) text() string {
	if m.w <= 0 || m.h <= 0 || len(m.files) == 0 {
		return ""
	}
	if m.tooSmall() {
		return m.small()
	}
	if m.still.frame != "" {
		return m.still.frame
	}
	body := m.body(m.w, m.h-frameRows)
	body = m.question(body, m.w, m.h-frameRows)
	parts := []string{m.header(), body, m.footer()}
	return strings.Join(parts, "\n")
}

// small says that the screen is too small, and how large it must be.
func (m *Model) small() string {
	c := screen.New(m.theme, m.w, m.h)
	y := max(m.h/2-1, 0)
	c.Middle(0, y, m.w, "too small", screen.Warn)
	c.Middle(0, y+1, m.w, "memtop needs 60×16", screen.Dim)
	return c.String()
}

// body returns the lines between header and footer.
func (m *Model) body(w, h int) string {
	if m.help != nil {
		return m.help.view(m.theme, w, h)
	}
	if m.whatIf.open {
		return m.whatIf.view(m.theme, w, h)
	}
	if p := m.visible(); p != nil {
		return p.View(w, h)
	}
	return m.waiting(w, h)
}

// header draws the tabs, the file's name, and below them where the cursor is.
func (m *Model) header() string {
	c := screen.New(m.theme, m.w, headerRows)
	x := 0
	for _, t := range m.tabRow() {
		style := screen.Dim
		if t.active {
			style = screen.Style{Fg: screen.Accent, Attr: screen.Bold | screen.Reverse}
		}
		c.Text(t.from, 0, t.text, style)
		x = t.to
	}
	if !m.nameBelow() {
		c.Right(x+1, 0, m.w-x-2, m.fileLabel(m.w-x-2), screen.Strong)
	}
	if m.shown() == page.Ranks {
		drawParts(c, 1, m.w-1, m.job.page.Summary())
	} else {
		m.place(c)
	}
	return c.String()
}

// nameBelow reports whether the tabs leave no room for the file's name.
func (m *Model) nameBelow() bool {
	row := m.tabRow()
	return m.tabStyle() != bare && m.w < row[len(row)-1].to+nameRoom
}

// nameRoom is how many cells a file's name needs.
const nameRoom = 16

// fileLabel returns the file's name with its number among several.
func (m *Model) fileLabel(room int) string {
	number := ""
	if len(m.files) > 1 && m.job.source == nil {
		number = " [" + screen.Count(m.at+1) + "/" + screen.Count(len(m.files)) + "]"
	}
	return screen.TruncateLeft(baseName(m.file().name), room-screen.Width(number)) + number
}

func baseName(path string) string {
	if path == "-" {
		return "standard input"
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// tabCells is one tab on the first row.
type tabCells struct {
	tab
	from, to int
	text     string
	active   bool
}

// tabStyle is how much room tabs take.
type tabStyle uint8

const (
	roomy tabStyle = iota // " 1 Overview "
	tight                 // " 4Timeline"
	short                 // " 4Time"
	bare                  // only the shown page has its name
)

// text is the text of a tab on the first row.
func (s tabStyle) text(number string, t *tab, active bool) string {
	text := " " + number
	switch {
	case s == tight:
		return text + t.title()
	case s == short:
		return text + t.shortTitle()
	case s == roomy || active:
		return text + " " + t.title() + " "
	default:
		return text + " "
	}
}

// tabStyle returns the first style that has room.
func (m *Model) tabStyle() tabStyle {
	for s := range bare {
		row := m.styledTabs(s)
		if row[len(row)-1].to < m.w {
			return s
		}
	}
	return bare
}

// tabRow returns the tabs of the pages for which the file has content.
func (m *Model) tabRow() []tabCells { return m.styledTabs(m.tabStyle()) }

func (m *Model) styledTabs(s tabStyle) []tabCells {
	row, x := make([]tabCells, 0, len(tabs)), 0
	for i, t := range tabs {
		if m.lacks(t.name) != "" {
			continue
		}
		cells := tabCells{tab: t, from: x, active: t.name == m.shown()}
		cells.text = s.text(keys.PageKey(i), &t, cells.active)
		x += screen.Width(cells.text)
		cells.to = x
		row = append(row, cells)
	}
	return row
}

// footer draws the open prompt, a note, or the most useful keys.
func (m *Model) footer() string {
	c := screen.New(m.theme, m.w, 1)
	if p := m.prompt(); p != nil && m.help == nil {
		p.Draw(c, 0)
		return c.String()
	}
	if m.note != "" {
		c.Fit(1, 0, m.w-2, m.note, screen.Warn)
		return c.String()
	}
	if t := m.shownNotice(); t != nil {
		m.drawNotice(c, t)
		return c.String()
	}
	m.hints(c)
	return c.String()
}

// hints draws short help from the bindings, as many as fit.
func (m *Model) hints(c screen.Canvas) {
	always := m.w - 14
	hint(c, always, *m.global.of("?"))
	hint(c, always+8, *m.global.of("q"))
	x := 1
	for _, b := range m.shortKeys() {
		h := b.Help()
		if !b.Enabled() {
			continue
		}
		if x+screen.Width(h.Key)+screen.Width(h.Desc)+1 > always-2 {
			return
		}
		x = hint(c, x, b)
	}
}

// hint draws a key with what it does and returns the column after it.
func hint(c screen.Canvas, x int, b key.Binding) int {
	h := b.Help()
	x = c.Text(x, 0, h.Key, screen.Strong)
	return c.Text(x+1, 0, h.Desc, screen.Dim) + 2
}
