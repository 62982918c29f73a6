package tensors

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"memtop/tui/find"
	"memtop/tui/page"
)

// Update takes keys and the mouse.
func (p *Page) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if p.read != nil {
			return p.readingKey(msg)
		}
		return p.key(msg)
	case tea.MouseWheelMsg:
		if p.read != nil || p.shape.detail.Contains(msg.X, msg.Y) {
			p.detail.Scroll(map[bool]int{true: -3, false: 3}[msg.Button == tea.MouseWheelUp])
			return nil
		}
		p.table().list.Wheel(msg)
		p.moved()
	case tea.MouseClickMsg:
		return p.click(msg)
	}
	return nil
}

func (p *Page) click(msg tea.MouseClickMsg) tea.Cmd {
	r, list := p.shape.list, &p.table().list
	if p.read != nil || !r.Contains(msg.X, msg.Y) {
		return nil
	}
	if msg.Y == r.Y+1 {
		p.clickHead(msg.X-r.X, r.W)
		return nil
	}
	was := list.Cursor
	if !list.Click(msg.Y - r.Y - 2) {
		return nil
	}
	if was == list.Cursor {
		return p.open()
	}
	p.moved()
	return nil
}

// moved remembers what is under the cursor now.
func (p *Page) moved() {
	p.detail.Offset = 0
	p.selected = selection{}
	if i, ok := p.row(); ok {
		p.selected = p.selectionOf(i)
	}
}

// readingKey takes a key while one tensor is shown alone.
func (p *Page) readingKey(msg tea.KeyPressMsg) tea.Cmd {
	switch k := &p.keys; {
	case p.detail.Key(msg, k.motion):
	case key.Matches(msg, k.pane.Open):
		return page.ToEvent(p.scene, p.read.Allocation)
	case key.Matches(msg, k.pane.Copy):
		return page.Copied(page.CopyLines(p.detailLines()), "the tensor")
	}
	return nil
}

func (p *Page) key(msg tea.KeyPressMsg) tea.Cmd {
	k := &p.keys
	switch {
	case key.Matches(msg, k.motion.Left):
		p.detail.Scroll(-1)
	case key.Matches(msg, k.motion.Right):
		p.detail.Scroll(1)
	case p.table().list.Key(msg, k.motion):
		p.moved()
	case key.Matches(msg, k.pane.Open):
		return p.open()
	case key.Matches(msg, k.pane.Expand):
		p.all = !p.all
	case key.Matches(msg, k.pane.Search):
		p.prompt = page.NewPrompt("search", "", "verdict, place, name, category, shape, dtype", p.startSearch)
	case key.Matches(msg, k.pane.Filter):
		p.prompt = page.NewPrompt("filter", p.table().filter, "verdict, place, name, category, shape; empty shows all", p.setFilter)
	case key.Matches(msg, k.pane.Next):
		return p.next(1)
	case key.Matches(msg, k.pane.Previous):
		return p.next(-1)
	case key.Matches(msg, k.pane.Copy):
		return page.Copied(page.CopyLines(p.detailLines()), "the detail")
	default:
		p.arrange(msg)
	}
	return nil
}

// arrange answers the keys that change what is listed and how.
func (p *Page) arrange(msg tea.KeyPressMsg) {
	switch k := &p.keys; {
	case key.Matches(msg, k.pane.SortLeft):
		p.sortBy(-1)
	case key.Matches(msg, k.pane.SortRight):
		p.sortBy(1)
	case key.Matches(msg, k.pane.Invert):
		p.table().sort.inverse = !p.table().sort.inverse
	case key.Matches(msg, k.mine.View):
		p.turn(map[view]view{sites: single, single: sites, inside: sites}[p.view])
	case key.Matches(msg, k.mine.Moment):
		p.now = !p.now
	case key.Matches(msg, k.mine.Worrying):
		p.worrying = !p.worrying
	}
}

// open goes from a site to its tensors, and from a tensor to its stack.
func (p *Page) open() tea.Cmd {
	if p.view == sites {
		if s := p.currentSite(); s != nil {
			p.site, p.siteName = keyOf(s), s.Name
			p.tables[inside].list, p.tables[inside].filter = page.List{}, ""
			p.turn(inside)
		}
		return nil
	}
	if t := p.currentTensor(); t != nil {
		read := *t
		p.read, p.detail.Offset = &read, 0
	}
	return nil
}

func (p *Page) setFilter(text string) tea.Cmd {
	p.table().filter = text
	return nil
}

func (p *Page) startSearch(text string) tea.Cmd {
	p.search = text
	if text == "" {
		return nil
	}
	return p.next(1)
}

// next goes to the next row that matches the search, around the ends.
func (p *Page) next(direction int) tea.Cmd {
	if p.search == "" {
		return page.Say("nothing searched for yet: / searches")
	}
	if !p.ready() {
		return nil
	}
	list, n := &p.table().list, len(p.rows)
	for step := 1; step <= n; step++ {
		i := ((list.Cursor+direction*step)%n + n) % n
		if find.Text(p.text(p.rows[i]), p.search) {
			list.Center(i)
			p.moved()
			return nil
		}
	}
	return page.Say("nothing listed matches " + p.search)
}

// text is what the search looks at in a row.
func (p *Page) text(i int32) string {
	if p.view == sites {
		return siteText(&p.held.sites[i])
	}
	t := &p.held.tensors[i]
	return tensorText(t, p.held.siteOf(t))
}
