package overview

import (
	"slices"
	"strconv"

	"memtop/snapshots/analysis"
	"memtop/tui/page"
	"memtop/tui/screen"
)

var severityMark = [...]rune{analysis.Info: '·', analysis.Warning: '!', analysis.Problem: '✗'}

var severityStyle = [...]screen.Style{analysis.Info: screen.Plain, analysis.Warning: screen.Warn, analysis.Problem: screen.Bad}

// shownFindings returns the findings that fit into so many rows, from the first
// on, or from the chosen one on when that would not be among them.
func (p *Page) shownFindings(w, rows int) []int {
	shown := p.findingsFrom(0, w, rows)
	if p.finding >= len(shown) {
		shown = p.findingsFrom(p.finding, w, rows)
	}
	return shown
}

func (p *Page) findingsFrom(first, w, rows int) []int {
	var shown []int
	for i := first; i < len(p.found); i++ {
		if rows -= len(p.findingLines(i, w)); rows < 0 && len(shown) > 0 {
			break
		}
		shown = append(shown, i)
	}
	return shown
}

func (p *Page) findings(w, rows int) section {
	shown := p.shownFindings(w, rows)
	lines := 1
	for _, i := range shown {
		lines += len(p.findingLines(i, w))
	}
	return section{max(lines, 2), func(c screen.Canvas) {
		c.Rule(0, "What stands out", p.moreFindings(len(shown)), true)
		y := 1
		for _, i := range shown {
			y = p.drawFinding(c, y, i)
		}
		switch _, ok := p.looked.Answer(); {
		case !ok:
			c.Text(3, 1, "looking …", screen.Dim)
		case y == 1:
			c.Text(3, 1, "nothing looks wrong", screen.Fine)
		}
	}}
}

// moreFindings says that some findings are not shown.
func (p *Page) moreFindings(shown int) string {
	if n := len(p.found); shown < n {
		return screen.Count(p.finding+1) + " of " + screen.Count(n) + " · n next"
	}
	return ""
}

func (p *Page) drawFinding(c screen.Canvas, y, i int) int {
	f := &p.found[i]
	if i == p.finding && len(p.found) > 1 {
		c.Set(0, y, '▸', screen.Title)
	}
	c.Set(1, y, severityMark[f.Severity], severityStyle[f.Severity])
	for _, line := range p.findingLines(i, c.Width()) {
		c.Text(3, y, line, screen.Plain)
		y++
	}
	return y
}

// gauge is one bar against the highest reserved level.
type gauge struct {
	name  string
	bytes int64
	note  string
	style screen.Style
}

func (p *Page) gauges() section {
	s := &p.scene.Summary
	live := screen.Style{Fg: screen.Band0}
	all := []gauge{
		{"live", s.Active, "of it asked for " + screen.Bytes(s.Requested), live},
		{"reserved", s.Reserved, screen.Count(s.Segments) + " segments", screen.Style{Fg: screen.Muted}},
	}
	if p.scene.Index.History() {
		all = append(all,
			gauge{"peak live", s.PeakRequested, p.peakNote(), live},
			gauge{"peak reserved", s.PeakReserved, "", screen.Style{Fg: screen.Muted}})
	}
	return section{1 + len(all), func(c screen.Canvas) {
		c.Rule(0, "Now, and at most", "end of the trace", false)
		top := max(s.PeakReserved, s.Reserved, s.PeakRequested, 1)
		for i, g := range all {
			drawGauge(c, 1+i, g, top)
		}
	}}
}

func (p *Page) peakNote() string {
	at, n := p.scene.Summary.PeakEvent, p.scene.Last()+1
	if at < 0 {
		return "before the first event"
	}
	return "event " + screen.Count(at) + ", " + screen.Percent(int64(at), int64(n)) + " in"
}

const gaugeName = 14

func drawGauge(c screen.Canvas, y int, g gauge, top int64) {
	c.Fit(1, y, gaugeName, g.name, screen.Plain)
	c.Right(1+gaugeName, y, screen.BytesWidth, screen.Bytes(g.bytes), screen.Strong)
	note := min(26, c.Width()/3)
	x := gaugeName + screen.BytesWidth + 3
	w := c.Width() - x - note - 2
	for i := range w {
		c.Set(x+i, y, '·', screen.Dim)
	}
	c.Bar(x, y, w, float64(g.bytes)/float64(top), g.style)
	c.Fit(x+w+2, y, note, g.note, screen.Dim)
}

// fall is one row of the waterfall.
type fall struct {
	name  string
	bytes int64
	style screen.Style
}

// falls returns the rows that sum to reserved memory.
func (p *Page) falls(f *facts) []fall {
	rows := make([]fall, 0, analysis.CategoryCount+4)
	rest := f.state.Reserved
	add := func(name string, bytes int64, style screen.Style) {
		rows = append(rows, fall{name, bytes, style})
		rest -= bytes
	}
	for c, bytes := range f.categories {
		add(analysis.Category(c).String(), bytes, screen.Style{Fg: screen.Band(c)})
	}
	add("rounding", f.state.Rounding, screen.Style{Fg: screen.Warning})
	add("cached free", f.state.Free, screen.Style{Fg: screen.Muted})
	if rest != 0 {
		add("unexplained", rest, screen.Bad)
	}
	return rows
}

// waterfall shows what reserved memory is made of. The compact one leaves out
// categories of which there is nothing.
func (p *Page) waterfall(compact bool) section {
	f, ok := p.asked.Answer()
	var rows []fall
	if ok {
		rows = p.falls(&f)
	}
	if compact {
		rows = slices.DeleteFunc(rows, func(r fall) bool { return r.bytes == 0 })
	}
	return section{max(len(rows), 1) + 2, func(c screen.Canvas) {
		guessed := "categories exact"
		if p.scene.Index.Guessed() {
			guessed = "categories guessed from stacks"
			if c.Width() < 75 {
				guessed = "guessed"
			}
		}
		c.Rule(0, "What reserved memory is, "+p.when(), guessed, false)
		if !ok {
			c.Text(3, 2, "adding up …", screen.Dim)
			return
		}
		p.drawFalls(c, rows, f.state.Reserved)
	}}
}

func (p *Page) when() string {
	return [...]string{atPeak: "at the peak", atEnd: "at the end", atCursor: "at the cursor"}[p.moment]
}

func (p *Page) drawFalls(c screen.Canvas, rows []fall, reserved int64) {
	x := gaugeName + screen.BytesWidth + 10
	w := c.Width() - x - 2
	top, sum := float64(max(reserved, 1)), int64(0)
	y := 1
	for _, row := range rows {
		p.drawFall(c, y, row, reserved)
		from := int(float64(w) * float64(sum) / top)
		sum += row.bytes
		to := int(float64(w)*float64(sum)/top + 0.999)
		if row.bytes > 0 {
			for i := max(from, 0); i < min(max(to, from+1), w); i++ {
				c.Set(x+i, y, '█', row.style)
			}
		}
		y++
	}
	c.Fit(1, y, gaugeName, "= reserved", screen.Strong)
	c.Right(1+gaugeName, y, screen.BytesWidth, screen.Bytes(reserved), screen.Strong)
	for i := range w {
		c.Set(x+i, y, '─', screen.Dim)
	}
}

func (p *Page) drawFall(c screen.Canvas, y int, row fall, of int64) {
	style := screen.Plain
	if row.bytes == 0 {
		style = screen.Dim
	}
	c.Fit(1, y, gaugeName, row.name, style)
	c.Right(1+gaugeName, y, screen.BytesWidth, screen.Bytes(row.bytes), style)
	c.Right(2+gaugeName+screen.BytesWidth, y, 6, screen.Percent(row.bytes, of), screen.Dim)
}

func (p *Page) holders(most int) section {
	f, ok := p.asked.Answer()
	if !ok || len(f.holders) == 0 {
		return section{}
	}
	n := min(len(f.holders), most)
	return section{1 + n, func(c screen.Canvas) {
		c.Rule(0, "Who holds most, "+p.when(), "by stack", false)
		for i := range n {
			h := &f.holders[i]
			c.Right(1, 1+i, screen.BytesWidth, screen.Bytes(h.Bytes), screen.Plain)
			c.Right(12, 1+i, 8, "×"+screen.Count(h.Count), screen.Dim)
			name := p.scene.Index.StackName(h.Stack)
			if h.Held == h.Bytes && p.scene.Index.History() {
				name += " (held before recording)"
			}
			c.Fit(22, 1+i, c.Width()-23, name, screen.Plain)
		}
	}}
}

func (p *Page) ooms() section {
	ooms := p.scene.OOMs
	if len(ooms) == 0 {
		return section{}
	}
	n := min(len(ooms), 5)
	return section{1 + n, func(c screen.Canvas) {
		c.Rule(0, screen.Count(len(ooms))+" out of memory", "o goes there", false)
		for i := range n {
			o := &ooms[i]
			c.Fit(1, 1+i, c.Width()-2, "event "+screen.Count(o.Event)+": "+o.Verdict.String()+"; "+o.Reason, screen.Bad)
		}
	}}
}

func (p *Page) pools() section {
	f, ok := p.asked.Answer()
	if !ok || f.state == nil || len(f.state.Pools) < 2 {
		return section{}
	}
	pools := f.state.Pools[:min(len(f.state.Pools), 8)]
	return section{1 + len(pools), func(c screen.Canvas) {
		c.Rule(0, "Memory pools, "+p.when(), "", false)
		for i := range pools {
			u := &pools[i]
			c.Fit(1, 1+i, 18, page.PoolText(p.scene.Tables(), u.Pool), screen.Plain)
			c.Right(19, 1+i, 14, screen.Count(u.Segments)+" segments", screen.Dim)
			c.Right(34, 1+i, 20, screen.Bytes(u.Reserved)+" reserved", screen.Plain)
			c.Right(55, 1+i, 18, screen.Bytes(u.Active)+" active", screen.Plain)
		}
	}}
}

// source says what was read and what to beware of.
func (p *Page) source() section {
	t, d := p.scene.Trace(), p.scene.Index.Device()
	info, s := &t.Info, &p.scene.Summary
	container := info.Container
	if info.PickleProtocol >= 0 {
		container += ", pickle protocol " + strconv.Itoa(info.PickleProtocol)
	}
	lines := []page.Line{
		page.Pair("file", info.Path),
		page.Pair("written by", info.Writer),
		page.Pair("as", container+", "+screen.Bytes(info.Bytes)),
		page.Pair("has", screen.Count(s.Events)+" events, "+screen.Count(s.DistinctStacks)+" stacks, "+
			screen.Count(s.Segments)+" segments, "+screen.Count(s.Blocks)+" blocks, "+screen.Count(len(t.Annotations))+" annotations"),
	}
	if s.Held > 0 {
		lines = append(lines, page.Pair("before", screen.Bytes(s.HeldBytes)+" in "+screen.Count(s.Held)+" allocations from before recording"))
	}
	if d.Overflowed {
		lines = append(lines, page.Line{Label: "beware", Text: "the recording's ring buffer overflowed: older events are lost", Style: screen.Warn})
	}
	for _, notice := range t.Notices {
		lines = append(lines, page.Line{Label: "notice", Text: notice, Style: screen.Warn})
	}
	return section{1 + len(lines), func(c screen.Canvas) {
		c.Rule(0, "Source", info.Kind, false)
		var all page.Reader
		all.Resize(len(lines), len(lines))
		all.Draw(c, 1, lines)
	}}
}
