package events

import (
	"memtop/snapshots/trace"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.scene.Theme, w, h)
	s := newShape(w, h, p.alone)
	p.drawList(c.Sub(s.list))
	if s.detail.H > 0 {
		p.drawDetail(c.Sub(s.detail), s.detail.X > 0)
	}
	if s.state.H > 0 {
		part := c.Sub(s.state)
		for y := range part.Height() {
			part.Set(0, y, '│', screen.Dim)
		}
		p.drawState(part.Sub(screen.Rect{X: 1, W: part.Width() - 1, H: part.Height()}))
	}
	return c.String()
}

func (p *Page) drawList(c screen.Canvas) {
	c.Rule(0, p.title(), p.searching(), true)
	columns := p.columns(c.Width() - 1)
	drawHeads(c, columns)
	from, to := p.list.Visible()
	for i := from; i < to && i-from < c.Height()-2; i++ {
		p.drawRow(c, 2+i-from, p.rows.at(i), columns)
		if i == p.list.Cursor {
			c.Select(2 + i - from)
		}
	}
	if p.rows.filtered && p.rows.count() == 0 && p.filter.Done() {
		c.Middle(0, c.Height()/2, c.Width(), "no event matches the filter", screen.Dim)
	}
	if p.scene.Last() < 0 {
		c.Middle(0, 4, c.Width(), "The file has no events: recording was off.", screen.Dim)
	}
	list := p.list
	list.Scrollbar(c, c.Width()-1, 2)
}

func (p *Page) title() string {
	n := screen.Plural(p.scene.Last()+1, "event")
	if p.filter.Query() != "" {
		return "Events matching “" + p.filter.Query() + "”: " + screen.Count(len(p.filter.Hits())) + " of " + n
	}
	return n
}

// searching says how a search or a filter is getting on.
func (p *Page) searching() string {
	text := ""
	if q := p.search.Query(); q != "" {
		text = "“" + q + "” " + screen.Count(len(p.search.Hits())) + " matches"
		if !p.search.Done() {
			text += " so far, " + screen.Percent(int64(p.search.Share()*1000), 1000)
		}
	}
	switch {
	case p.sort.by == byLife && text == "":
		text = "longest lived first"
	case p.sort.by == bySize && text == "":
		text = "largest first"
	}
	if p.sort.inverse && p.search.Query() == "" {
		text = "inverted · " + text
	}
	if p.sort != (sorting{}) && !p.order.Fresh() {
		text = "sorting …"
	}
	if !p.filter.Done() {
		text = "filtering " + screen.Percent(int64(p.filter.Share()*1000), 1000)
	}
	return text
}

// column is one column of the list.
type column struct {
	head  string
	width int
	right bool
	text  func(p *Page, i int, e *trace.Event) string
}

// columns returns those that fit into w cells, the place always among them.
func (p *Page) columns(w int) []column {
	number := max(screen.Width(screen.Count(p.scene.Last()+1)), 5)
	all := []column{
		{"event", number, true, func(_ *Page, i int, _ *trace.Event) string { return screen.Count(i) }},
		{"action", 14, false, func(p *Page, _ int, e *trace.Event) string { return page.ActionText(p.scene.Tables(), e) }},
		{"size", screen.BytesWidth, true, sizeColumn},
		{"live after", screen.BytesWidth, true, func(p *Page, i int, _ *trace.Event) string {
			return screen.Bytes(p.scene.Index.RequestedAt(i))
		}},
	}
	if w >= 90 && p.scene.Index.Timed() {
		time := column{"time", 11, true, func(p *Page, i int, _ *trace.Event) string { return p.timeColumn(i) }}
		all = append(all[:1], append([]column{time}, all[1:]...)...)
	}
	if w >= 104 {
		all = append(all, column{"address", 15, true, addressColumn})
	}
	if w >= 112 {
		all = append(all, column{"stream", 6, true, streamColumn})
	}
	used := 1
	for _, col := range all {
		used += col.width + 2
	}
	return append(all, column{"where", max(w-used, 4), false, func(p *Page, i int, e *trace.Event) string {
		return p.where(i, e)
	}})
}

func sizeColumn(_ *Page, _ int, e *trace.Event) string {
	switch {
	case e.Absent&trace.NoSize != 0:
		return ""
	case page.IsStep(e):
		return screen.Count(int(e.Size))
	}
	return screen.Bytes(e.Size)
}

func addressColumn(_ *Page, _ int, e *trace.Event) string {
	if e.Absent&trace.NoAddr != 0 || e.Kind == trace.OOM {
		return ""
	}
	return screen.Address(e.Addr)
}

func streamColumn(_ *Page, _ int, e *trace.Event) string {
	if e.Absent&trace.NoStream != 0 {
		return ""
	}
	return page.StreamText(e.Stream)
}

func (p *Page) timeColumn(i int) string {
	us, ok := p.scene.Since(i)
	if !ok {
		return ""
	}
	return "+" + screen.Micros(us)
}

// where names an event's stack in one line. Of a free it names what is freed,
// which tells more than who dropped the last reference.
func (p *Page) where(i int, e *trace.Event) string {
	if p.scene.GapAt(i) != nil {
		return "made up: " + p.place(i, e)
	}
	return p.place(i, e)
}

func (p *Page) place(i int, e *trace.Event) string {
	if e.Kind == trace.OOM {
		return "out of memory: the device had " + screen.Bytes(int64(e.Addr)) + " free"
	}
	if e.Kind != trace.Alloc {
		if a, ok := page.AllocationOf(p.scene, i); ok {
			if a.Open < 0 {
				return "← from before recording"
			}
			return "← #" + screen.Count(a.Open) + " " + page.AllocationName(p.scene, a.Stack, a.Note)
		}
	}
	if e.Stack <= trace.EmptyStack {
		return ""
	}
	return page.AllocationName(p.scene, e.Stack, e.Note)
}

func drawHeads(c screen.Canvas, columns []column) {
	x := 1
	for _, col := range columns {
		if col.right {
			c.Right(x, 1, col.width, col.head, screen.Dim)
		} else {
			c.Fit(x, 1, col.width, col.head, screen.Dim)
		}
		x += col.width + 2
	}
}

// clickHead sorts by the column at x, if one can; once more inverts the order.
func (p *Page) clickHead(x, w int) {
	from := 1
	for _, col := range p.columns(w - 1) {
		if x >= from && x < from+col.width {
			switch col.head {
			case "event":
				p.setSort(byEvent)
			case "size":
				p.setSort(bySize)
			}
		}
		from += col.width + 2
	}
}

func (p *Page) setSort(by sortColumn) {
	p.sort = sorting{by, p.sort.by == by && !p.sort.inverse}
	p.top = true
}

func (p *Page) drawRow(c screen.Canvas, y int, r row, columns []column) {
	switch {
	case r.mark != nil:
		drawMark(c, y, r.mark)
		return
	case r.event < 0:
		text := "before the first event: " + screen.Bytes(p.scene.Summary.InitialRequested) + " held in " +
			screen.Plural(p.scene.Summary.Held, "allocation")
		c.Fit(1, y, c.Width()-2, text, screen.Dim)
		return
	}
	e := p.scene.Events().At(r.event)
	style := rowStyle(e.Kind)
	if p.search.Has(r.event) {
		c.Set(0, y, '▸', screen.Title)
	}
	x := 1
	for _, col := range columns {
		text := col.text(p, r.event, e)
		if col.right {
			c.Right(x, y, col.width, text, style)
		} else {
			c.Fit(x, y, col.width, text, style)
		}
		x += col.width + 2
	}
}

// rowStyle makes the kinds of events look different; their names do too.
func rowStyle(k trace.Kind) screen.Style {
	switch k {
	case trace.OOM:
		return screen.Bad
	case trace.SegmentAlloc, trace.SegmentFree, trace.SegmentMap, trace.SegmentUnmap:
		return screen.Style{Fg: screen.Accent}
	case trace.FreeRequested, trace.FreeCompleted, trace.Free:
		return screen.Dim
	default:
		return screen.Plain
	}
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

func (p *Page) drawDetail(c screen.Canvas, beside bool) {
	if beside {
		for y := range c.Height() {
			c.Set(0, y, '│', screen.Dim)
		}
		c = c.Sub(screen.Rect{X: 1, W: c.Width() - 1, H: c.Height()})
	}
	c.Rule(0, "Detail", "", false)
	reader := p.detail
	reader.Draw(c, 1, p.detailLinesFor())
}

// detailLinesFor is detailLines without depending on the laid out shape, so
// that a size that Refresh has not seen draws too.
func (p *Page) detailLinesFor() []page.Line {
	return page.EventLines(p.scene, p.scene.Cursor(), !p.short)
}
