package events

import (
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.Scene.Theme, w, h)
	s := newShape(w, h, p.Alone)
	p.drawList(c.Sub(s.list))
	p.DrawDetail(c.Sub(s.detail), s.detail.X > 0, p.detailLines)
	if s.state.H > 0 {
		p.drawState(page.Aside(c.Sub(s.state), true))
	}
	return c.String()
}

func (p *Page) drawList(c screen.Canvas) {
	c.Rule(0, p.title(), p.searching(), true)
	p.table.Draw(c.Sub(screen.Rect{Y: 1, W: c.Width(), H: c.Height() - 1}))
	if p.rows.filtered && p.rows.count() == 0 && p.filter.Done() {
		p.table.Empty(c, "")
	}
}

// Lacks says what a file of one state would need.
func (p *Page) Lacks() string { return p.Scene.LacksHistory() }

func (p *Page) title() string {
	n := screen.Plural(p.Scene.Last()+1, "event")
	if p.filter.Query() != "" {
		return "Events matching “" + p.filter.Query() + "”: " + screen.Count(len(p.filter.Hits())) + " of " + n
	}
	return n
}

// searching shows the progress of a search or a filter.
func (p *Page) searching() string {
	text := ""
	if q := p.search.Query(); q != "" {
		text = "“" + q + "” " + screen.Count(len(p.search.Hits())) + " matches"
		if !p.search.Done() {
			text += " so far, " + screen.Percent(int64(p.search.Share()*1000), 1000)
		}
	}
	switch {
	case p.table.Order.By == lives && text == "":
		text = "longest lived first"
	case p.table.Order.By == "size" && text == "":
		text = "largest first"
	}
	if p.table.Order.Inverse && p.search.Query() == "" {
		text = "inverted · " + text
	}
	if p.table.Order != (page.Order{}) && !p.order.Fresh() {
		text = "sorting …"
	}
	if !p.filter.Done() {
		text = "filtering " + screen.Percent(int64(p.filter.Share()*1000), 1000)
	}
	return text
}

func drawMark(c screen.Canvas, y int, m *page.Mark) {
	word := "┬ begin "
	switch {
	case m.Setting:
		word = "◆ from the next step on "
	case m.End:
		word = "┴ end "
	}
	for x := range c.Width() - 1 {
		c.Set(x, y, '┄', screen.Dim)
	}
	c.Fit(3, y, c.Width()-6, word+m.Name+" ", screen.Title)
}
