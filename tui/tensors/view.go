package tensors

import (
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// shape is the places of the panes.
type shape struct{ list, detail screen.Rect }

func (p *Page) newShape(w, h int) shape {
	all := screen.Rect{W: w, H: h}
	switch {
	case p.read != nil:
		return shape{detail: all}
	case p.Alone:
		return shape{list: all}
	case w >= 140:
		list, detail := all.Left(w * 3 / 5)
		return shape{list, detail}
	default:
		most := h - max(h*2/5, 5)
		list, detail := all.Top(min(max(p.table().Count+3, 8), most))
		return shape{list, detail}
	}
}

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.Scene.Theme, w, h)
	s := p.newShape(w, h)
	if !p.ready() {
		c.Rule(0, "Tensors", "", true)
		c.Middle(0, h/2, w, "looking at what is alive …", screen.Dim)
		return c.String()
	}
	if s.list.H > 0 {
		p.drawList(c.Sub(s.list))
	}
	if s.detail.H > 0 {
		p.drawDetail(c.Sub(s.detail), s.detail.X > 0)
	}
	return c.String()
}

func (p *Page) drawList(c screen.Canvas) {
	c.Rule(0, p.title(), p.state(), true)
	t := p.table()
	t.Draw(c.Sub(screen.Rect{Y: 1, W: c.Width(), H: c.Height() - 1}))
	if t.Count == 0 {
		t.Empty(c, p.nothing())
	}
}

// nothing says why the list is empty, apart from the filter.
func (p *Page) nothing() string {
	switch {
	case p.worrying && !p.held.stepped:
		return "the file marks no steps, so nothing can be seen to grow with them"
	case p.worrying:
		return "nothing grows or leaks; f shows all"
	case p.view == inside:
		return "nothing of this site is alive at the cursor"
	default:
		return "nothing is alive at the cursor"
	}
}

// title names the list and its total.
func (p *Page) title() string {
	n, all, what := p.table().Count, len(p.held.sites), p.table().Noun
	if p.view != sites {
		all = len(p.held.tensors)
	}
	text := screen.Plural(n, what)
	if p.view == inside {
		return text + " of " + p.siteName + ", " + screen.Bytes(p.bytes)
	}
	if n != all {
		text = screen.Count(n) + " of " + screen.Plural(all, what)
	}
	return text + ", " + screen.Bytes(p.bytes) + p.moment()
}

// moment says the time of the list, if that is not the cursor's moment.
func (p *Page) moment() string {
	at := p.held.at
	if at == p.Scene.Cursor() || at < 0 || at > p.Scene.Last() {
		return ""
	}
	if e := p.Scene.Events().At(at); e.Kind == trace.StepEnd {
		return ", after step " + screen.Count(int(e.Size))
	}
	return ""
}

// state says which rows are left out, and which facts are unknown.
func (p *Page) state() string {
	text := ""
	switch {
	case p.worrying && p.view != inside:
		text = "only what grows or leaks"
	case !p.held.stepped:
		text = "no steps: ages are not known"
	case p.view == inside:
		text = "esc back"
	}
	if f := p.table().Filter; f != "" {
		text = strings.TrimSpace("filter “" + f + "” " + text)
	}
	return text
}

func (p *Page) drawDetail(c screen.Canvas, beside bool) {
	c = page.Aside(c, beside)
	right := ""
	if p.read != nil {
		right = "esc back"
	}
	c.Rule(0, "Detail", right, p.read != nil)
	p.Detail.Draw(c, 1, p.detailLines())
}
