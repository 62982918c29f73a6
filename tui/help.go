package tui

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/tui/keys"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// help is the list of all keys, made from the bindings.
type help struct {
	groups []keys.Group
	text   page.Reader
	motion keys.Motion
	close  []key.Binding
}

func (m *Model) newHelp() *help {
	h := &help{motion: keys.NewMotion(), close: []key.Binding{*m.global.of("?"), *m.global.of("esc"), *m.global.of("q")}}
	if m.whatIf.open {
		h.groups = append(h.groups, m.whatIf.help())
	} else if p := m.visible(); p != nil {
		h.groups = append(h.groups, p.Help()...)
	}
	if g, ok := m.controlHelp(); ok {
		h.groups = append(h.groups, g)
	}
	h.groups = append(h.groups, keys.Group{Title: "Everywhere", Bindings: m.helpful()}, keys.Group{Title: "Words", Terms: words})
	h.resize(m.w, m.h-frameRows)
	return h
}

// words explains the terms that every page uses.
var words = []keys.Term{
	keys.Explain("live", "memory that the program holds"),
	keys.Explain("reserved", "what the allocator took from the device, live or not"),
	keys.Explain("cached", "reserved, and in no live block"),
	keys.Explain("segment", "memory that the allocator took from the device; blocks are cut out of it"),
	keys.Explain("peak", "when the most was live"),
	keys.Explain("held", "allocated before the recording or attaching began"),
	keys.Explain("rounding", "what blocks have beyond the requested size"),
}

// helpful returns the global keys, without those of pages that the file has nothing
// for.
func (m *Model) helpful() []key.Binding {
	var all []key.Binding
	for _, k := range m.global {
		if k.page == nil || m.lacks(k.page(m)) == "" {
			all = append(all, k.Binding)
		}
	}
	return all
}

// key scrolls, and reports whether to close the help.
func (h *help) key(msg tea.KeyPressMsg) bool {
	return !h.text.Key(msg, h.motion) && key.Matches(msg, h.close...)
}

// helpLine is one line: a title, a key or a sign with what it means, the rest of
// that, or nothing.
type helpLine struct{ title, key, text string }

// The least width of one column, how many there are at most, and the width of keys
// with the space behind them.
const (
	helpColumn  = 39
	helpColumns = 3
	helpKeys    = 10
)

// layout puts the groups into as many columns as fit, each group whole.
func (h *help) layout(w int) [][]helpLine {
	n := min(max((w-2)/helpColumn, 1), helpColumns)
	blocks, total := make([][]helpLine, len(h.groups)), 0
	for i := range h.groups {
		blocks[i] = groupLines(&h.groups[i], (w-2)/n-helpKeys-2)
		total += len(blocks[i])
	}
	columns := make([][]helpLine, 1, n)
	for _, block := range blocks {
		if last := len(columns[len(columns)-1]); last > 0 && len(columns) < n && last+len(block)/2 > total/n {
			columns = append(columns, nil)
		}
		columns[len(columns)-1] = append(columns[len(columns)-1], block...)
	}
	return columns
}

// groupLines writes a group with texts of at most so many cells, and an empty line
// behind it.
func groupLines(g *keys.Group, room int) []helpLine {
	lines := []helpLine{{title: g.Title}}
	add := func(key, text string) {
		for _, part := range screen.Wrap(text, room) {
			lines = append(lines, helpLine{key: key, text: part})
			key = ""
		}
	}
	for _, b := range g.Bindings {
		if b.Enabled() {
			add(b.Help().Key, b.Help().Desc)
		}
	}
	for _, t := range g.Terms {
		add(t.Sign, t.Means)
	}
	return append(lines, helpLine{})
}

// resize takes the size that the help is drawn at.
func (h *help) resize(w, height int) {
	rows := 0
	for _, column := range h.layout(w) {
		rows = max(rows, len(column)-1)
	}
	h.text.Resize(rows, height-2)
}

func (h *help) view(t *screen.Theme, w, height int) string {
	c := screen.New(t, w, height)
	columns := h.layout(w)
	room := (w - 2) / len(columns)
	for i, column := range columns {
		drawHelp(c.Sub(screen.Rect{X: 2 + i*room, Y: 2, W: room - 1, H: height - 2}), column[min(h.text.Offset, len(column)):])
	}
	c.Rule(0, "Keys and signs", "? or esc closes", true)
	if h.text.More(height - 2) {
		c.Right(0, height-1, w, " ↓ more ", screen.Dim)
	}
	return c.String()
}

func drawHelp(c screen.Canvas, lines []helpLine) {
	for y, line := range lines {
		c.Fit(0, y, c.Width(), line.title, screen.Title)
		c.Fit(0, y, helpKeys-1, line.key, screen.Strong)
		c.Fit(helpKeys, y, c.Width()-helpKeys, line.text, screen.Plain)
	}
}
