// Package layers is the page of a model's layers: what each keeps for the
// backward pass, what it weighs and how long it takes, as a tree that folds, as
// it was at the cursor.
package layers

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	asking "memtop/tui/ask"
	"memtop/tui/page"
)

// Page is the layers page.
type Page struct {
	scene    *page.Scene
	keys     keyMap
	asked    *asking.One[question, *table]
	table    *table          // the newest answer that has layers, nil before the first
	rows     []int           // of the table, visible, in order
	kept     []bool          // what the filter leaves, nil without one
	opened   map[string]bool // what the reader opened or closed
	telling  []bool          // what is open unless he did
	told     int             // for how many rows that was chosen
	all      bool            // what nobody folded is open
	sort     sorting
	filter   string
	search   string
	prompt   *page.Prompt
	list     page.List
	selected string // name of the selected layer, kept when another step is shown
	w        int
}

// New returns the page of a scene.
func New(s *page.Scene) *Page {
	return &Page{scene: s, keys: newKeyMap(s), opened: make(map[string]bool), asked: asking.New(s.Gate, ask)}
}

// Prompting returns the open prompt.
func (p *Page) Prompting() *page.Prompt { return p.prompt }

// EndPrompt closes the prompt.
func (p *Page) EndPrompt() { p.prompt = nil }

// Back clears the filter, then the order, then the search.
func (p *Page) Back() bool {
	switch {
	case p.filter != "":
		p.filter = ""
	case p.sort != sorting{}:
		p.sort = sorting{}
	case p.search != "":
		p.search = ""
	default:
		return false
	}
	p.lay()
	return true
}

// step returns the number of the step whose layers are wanted, 0 for none.
func (p *Page) step() int64 {
	if s := p.scene.StepAt(p.scene.Cursor()); s != nil {
		return s.Number
	}
	return 0
}

// Rebase forgets the table, which holds steps; what is selected is known by name.
func (p *Page) Rebase(int) { p.table, p.rows = nil, nil }

// Refresh asks for the layers at the cursor.
func (p *Page) Refresh(w, h int) tea.Cmd {
	p.w = w
	var cmd tea.Cmd
	if step := p.step(); step > 0 && (step != p.asked.Answered().step || !p.asked.Fresh()) {
		cmd = p.asked.Ask(question{p.scene.Edition(), step})
	}
	if t, ok := p.asked.Answer(); ok && t.Step != nil && (t != p.table || p.told != h-frameRows) {
		p.table = t
		p.tell(h - frameRows)
		p.lay()
		p.keepSelected()
	}
	p.list.Resize(len(p.rows), h-frameRows)
	return cmd
}

// keepSelected keeps the cursor on its layer when rows come or go.
func (p *Page) keepSelected() {
	at := slices.IndexFunc(p.rows, func(i int) bool { return p.table.Rows[i].Name == p.selected })
	if at >= 0 {
		p.list.Resize(len(p.rows), max(p.list.Height, 1))
		p.list.To(at)
	}
}

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	if p.table == nil {
		return nil
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		cmd := p.key(msg)
		p.moved()
		return cmd
	case tea.MouseWheelMsg:
		p.list.Wheel(msg)
	case tea.MouseClickMsg:
		p.click(msg)
	}
	p.moved()
	return nil
}

func (p *Page) moved() {
	if i := p.current(); i >= 0 {
		p.selected = p.table.Rows[i].Name
	}
}

func (p *Page) key(msg tea.KeyPressMsg) tea.Cmd {
	k, at := &p.keys, p.current()
	switch {
	case key.Matches(msg, k.motion.Left):
		p.out(at)
	case key.Matches(msg, k.motion.Right):
		p.into(at)
	case p.list.Key(msg, k.motion):
	case key.Matches(msg, k.pane.Open, k.pane.Expand):
		p.fold(at, at >= 0 && !p.open(at))
	case key.Matches(msg, k.mine.All):
		p.all, p.opened = !p.all, make(map[string]bool)
		p.lay()
		p.keepSelected()
	case key.Matches(msg, k.mine.Largest):
		if p.table.largest < 0 {
			return page.Say("no layer keeps anything for the backward pass")
		}
		p.reveal(p.table.largest)
	case key.Matches(msg, k.pane.Copy):
		return p.copy(at)
	default:
		return p.look(msg)
	}
	return nil
}

// look answers the keys that search, filter and sort.
func (p *Page) look(msg tea.KeyPressMsg) tea.Cmd {
	k := &p.keys
	switch {
	case key.Matches(msg, k.pane.Search):
		p.prompt = page.NewPrompt("search", "", "part of a name or a class", p.startSearch)
	case key.Matches(msg, k.pane.Filter):
		p.prompt = page.NewPrompt("filter", p.filter, "part of a name or a class; empty shows all", p.setFilter)
	case key.Matches(msg, k.pane.Next):
		return p.found(1)
	case key.Matches(msg, k.pane.Previous):
		return p.found(-1)
	case key.Matches(msg, k.pane.SortLeft):
		p.sortBy(-1)
	case key.Matches(msg, k.pane.SortRight):
		p.sortBy(1)
	case key.Matches(msg, k.pane.Invert):
		p.sort.inverse = !p.sort.inverse
		p.reorder()
	}
	return nil
}

// out closes a row, or goes to the one around it.
func (p *Page) out(at int) {
	switch {
	case at < 0:
	case p.open(at):
		p.fold(at, false)
	case p.table.Rows[at].Parent >= 0:
		p.reveal(p.table.Rows[at].Parent)
	}
}

// into opens a row, or goes to the first inside it.
func (p *Page) into(at int) {
	switch {
	case at < 0 || len(p.table.Rows[at].Children) == 0:
	case p.open(at):
		p.list.To(p.list.Cursor + 1)
	default:
		p.fold(at, true)
	}
}

func (p *Page) startSearch(text string) tea.Cmd {
	p.search = text
	if text == "" {
		return nil
	}
	return p.found(1)
}

func (p *Page) found(direction int) tea.Cmd {
	switch {
	case p.search == "":
		return page.Say("nothing searched for yet: / searches")
	case !p.next(direction):
		return page.Say("no layer matches " + p.search)
	}
	return nil
}

func (p *Page) setFilter(text string) tea.Cmd {
	p.filter = text
	p.reorder()
	return nil
}

// sortBy sorts by the next visible column in a direction; left of the first is
// the order in which layers ran.
func (p *Page) sortBy(direction int) {
	columns, _ := fitting(p.w)
	ids := []columnID{byOrder}
	for _, c := range columns {
		ids = append(ids, c.id)
	}
	at := max(slices.Index(ids, p.sort.by), 0)
	p.sort = sorting{by: ids[(at+direction+len(ids))%len(ids)]}
	p.reorder()
}

func (p *Page) reorder() {
	p.lay()
	p.keepSelected()
}

// click selects a row; one more opens or closes it. A click on a heading sorts.
func (p *Page) click(msg tea.MouseClickMsg) {
	if msg.Y == 1 {
		p.clickHead(msg.X)
		return
	}
	if was := p.list.Cursor; p.list.Click(msg.Y-2) && was == p.list.Cursor {
		if at := p.current(); at >= 0 {
			p.fold(at, !p.open(at))
		}
	}
}

func (p *Page) clickHead(x int) {
	columns, name := fitting(p.w)
	from := name + 2
	by := byOrder
	for _, c := range columns {
		width := c.width + 2
		if c.id == bySaved {
			width += barWidth + 1
		}
		if x >= from && x < from+width {
			by = c.id
		}
		from += width
	}
	p.sort = sorting{by: by, inverse: p.sort.by == by && !p.sort.inverse}
	p.reorder()
}

func (p *Page) copy(at int) tea.Cmd {
	if at < 0 {
		return nil
	}
	r := &p.table.Rows[at]
	parts := []string{nameOf(r)}
	for _, c := range all {
		if text := c.text(r); text != "" && text != "·" {
			parts = append(parts, c.head+" "+text)
		}
	}
	return page.Copied(strings.Join(parts, ", "), "the layer")
}

var (
	_ page.Page     = (*Page)(nil)
	_ page.Backer   = (*Page)(nil)
	_ page.Prompter = (*Page)(nil)
)
