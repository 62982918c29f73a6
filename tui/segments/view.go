package segments

import (
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// shape is where the panes are.
type shape struct{ totals, list, detail screen.Rect }

func (p *Page) newShape(w, h int) shape {
	all := screen.Rect{W: w, H: h}
	if p.Alone {
		return shape{list: all}
	}
	var s shape
	pools := 0
	if p.state != nil && len(p.state.Pools) > 1 && h >= 20 {
		pools = min(len(p.state.Pools), 4)
	}
	s.totals, s.list = all.Top(4 + pools)
	if w >= 140 {
		s.list, s.detail = s.list.Left(w * 3 / 5)
		return s
	}
	s.list, s.detail = s.list.Top(s.list.H - max(h*3/10, 4))
	return s
}

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.Scene.Theme, w, h)
	if p.state == nil {
		c.Rule(0, "Segments", "", true)
		c.Middle(0, h/2, w, "building the allocator's map …", screen.Dim)
		return c.String()
	}
	if p.Scene.Index.Uncached() {
		p.drawUncached(c)
		return c.String()
	}
	s := p.newShape(w, h)
	p.drawTotals(c.Sub(s.totals))
	p.drawList(c.Sub(s.list))
	p.DrawDetail(c.Sub(s.detail), s.detail.X > 0, p.detailLines)
	return c.String()
}

// drawUncached draws the page of a device without segments.
func (p *Page) drawUncached(c screen.Canvas) {
	c.Rule(0, "Segments", "", true)
	lines := screen.Wrap("Here "+page.Uncached+". "+screen.Bytes(p.state.Requested)+" are allocated, in "+
		screen.Plural(p.state.Blocks, "block")+": 3 lists them, 4 shows them over time.", c.Width()-4)
	for i, line := range lines {
		c.Text(2, 2+i, line, screen.Plain)
	}
}

func (p *Page) drawTotals(c screen.Canvas) {
	if c.Height() == 0 {
		return
	}
	m := p.state
	c.Rule(0, p.title(), p.doubt(), false)
	drawShares(c, 1, m)
	drawFacts(c, 2, p.facts())
	for i := range m.Pools {
		p.drawPool(c, 4+i, &m.Pools[i], i+1 == p.shown.pool)
	}
}

// facts are the totals, the most important first.
func (p *Page) facts() []string {
	m := p.state
	facts := []string{
		"live " + screen.Bytes(m.Requested) + " + rounding " + screen.Bytes(m.Rounding) + " + free " + screen.Bytes(m.Free) +
			" = reserved " + screen.Bytes(m.Reserved),
	}
	if m.Pending > 0 {
		facts = append(facts, "pending free "+screen.Bytes(m.Pending))
	}
	facts = append(facts, roomText(p.room))
	if m.Free > 0 {
		facts = append(facts, screen.Percent(p.room.Pinned, m.Free)+" of free is pinned")
	}
	if m.Active > 0 {
		facts = append(facts, "rounding "+screen.Percent(m.Rounding, m.Active)+" of live")
	}
	if m.OutsideCount > 0 {
		facts = append(facts, "outside any segment "+screen.Bytes(m.Outside))
	}
	return facts
}

// drawFacts draws as many facts as fit on two rows.
func drawFacts(c screen.Canvas, y int, facts []string) {
	x, rows := 1, 2
	for _, fact := range facts {
		w := screen.Width(fact)
		if x > 1 && x+3+w > c.Width()-1 {
			x, y, rows = 1, y+1, rows-1
		}
		if rows == 0 {
			return
		}
		if x > 1 {
			x = c.Text(x, y, " · ", screen.Dim)
		}
		c.Fit(x, y, c.Width()-1-x, fact, screen.Plain)
		x += w
	}
}

func (p *Page) title() string {
	if p.state.At == p.Scene.Last() {
		return "Allocator's map at the end"
	}
	if p.state.At < 0 {
		return "Allocator's map before the first event"
	}
	return "Allocator's map after event " + screen.Count(p.state.At)
}

// doubt says which part of the map is inferred.
func (p *Page) doubt() string {
	switch {
	case !p.asked.Fresh():
		return "…"
	case p.state.Exact:
		return "as recorded"
	default:
		return "block sizes inferred"
	}
}

// drawShares draws reserved memory as one bar.
func drawShares(c screen.Canvas, y int, m *analysis.Map) {
	w := c.Width() - 2
	if m.Reserved <= 0 || w <= 0 {
		return
	}
	parts := []struct {
		bytes int64
		r     rune
		style screen.Style
	}{
		{m.Requested - m.Pending, '█', screen.Style{Fg: screen.Band0}},
		{m.Pending, 'p', screen.Style{Fg: screen.Pending}},
		{m.Rounding, '▒', screen.Style{Fg: screen.Warning}},
		{m.Free, '·', screen.Dim},
	}
	x, sum := 0, int64(0)
	for _, part := range parts {
		sum += part.bytes
		end := int(float64(w)*float64(sum)/float64(m.Reserved) + 0.5)
		for ; x < min(end, w); x++ {
			c.Set(1+x, y, part.r, part.style)
		}
	}
}

func (p *Page) drawPool(c screen.Canvas, y int, u *analysis.PoolUse, only bool) {
	style := screen.Dim
	if only {
		style = screen.Strong
		c.Set(0, y, '▸', screen.Title)
	}
	c.Fit(1, y, 22, "pool "+page.PoolText(p.Scene.Tables(), u.Pool), style)
	c.Right(23, y, 13, screen.Plural(u.Segments, "segment"), style)
	c.Right(37, y, 20, screen.Bytes(u.Reserved)+" reserved", style)
	c.Right(58, y, 18, screen.Bytes(u.Active)+" active", style)
}

func (p *Page) drawList(c screen.Canvas) {
	table := c.Sub(screen.Rect{Y: 1, W: c.Width(), H: c.Height() - 1})
	if s := p.opened(); s != nil {
		c.Rule(0, "Segment "+screen.Address(s.Addr)+" "+screen.Bytes(s.Size)+": "+screen.Plural(len(s.Blocks), "block"), "esc back", true)
		p.blocks.Draw(table)
		return
	}
	c.Rule(0, p.listTitle(), p.listState(), true)
	p.table.Draw(table)
	if p.table.Count == 0 {
		p.table.Empty(c, "no segments")
	}
}

func (p *Page) listTitle() string {
	n := screen.Count(p.table.Count)
	if p.table.Count != len(p.state.Segments) {
		n += " of " + screen.Count(len(p.state.Segments))
	}
	return n + " segments"
}

func (p *Page) listState() string {
	text := ""
	if p.shown.pool > 0 {
		text = "pool " + page.PoolText(p.Scene.Tables(), p.state.Pools[p.shown.pool-1].Pool)
	}
	if p.shown.filter != "" {
		text += " filter “" + p.shown.filter + "”"
	}
	if text == "" {
		text = "█ live  · free  ▒ partly  p pending"
		if p.Scene.Theme.Letters() {
			text = "A…Z live: the category  · free  ▒ partly  p pending"
		}
	}
	return text
}

// roomText says how large a request fits: now, and after the allocator gives back
// all that it can.
func roomText(r analysis.LargestRequest) string {
	text := "fits " + screen.Bytes(r.Cached)
	switch {
	case r.Largest == r.Cached:
		return text + ", also with " + screen.Bytes(r.Returnable) + " given back"
	case r.Driver < 0:
		return text + ", " + screen.Bytes(r.Largest) + " with " + screen.Bytes(r.Returnable) + " given back"
	default:
		return text + ", " + screen.Bytes(r.Largest) + " with " + screen.Bytes(r.Returnable) + " given back + " + screen.Bytes(r.Driver) + " of the driver"
	}
}
