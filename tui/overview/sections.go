package overview

import (
	"strconv"

	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// gauge is one bar against the highest reserved level.
type gauge struct {
	name  string
	bytes int64
	note  string
	style screen.Style
	trail []int64 // stands instead of the note, when it is not empty
}

func (p *Page) gauges() section {
	s := &p.Scene.Summary
	live := screen.Style{Fg: screen.Band0}
	all := []gauge{
		{name: "live", bytes: s.Active, note: "asked for " + screen.Bytes(s.Requested), style: live},
		{name: "reserved", bytes: s.Reserved, note: p.Scene.Index.SegmentsText(s.Segments), style: screen.Style{Fg: screen.Muted}},
	}
	if p.Scene.Index.History() {
		all = append(all,
			gauge{name: "peak live", bytes: s.PeakRequested, note: p.peakNote(), style: live},
			gauge{name: "peak reserved", bytes: s.PeakReserved, style: screen.Style{Fg: screen.Muted}})
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
	at, n := p.Scene.Summary.PeakEvent, p.Scene.Last()+1
	if at < 0 {
		return "before the first event"
	}
	return "event " + screen.Count(at) + ", " + screen.Percent(int64(at), int64(n)) + " in"
}

const gaugeName = 15

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
	if len(g.trail) > 1 {
		page.Spark(c, x+w+2, y, note, g.trail, g.style)
		return
	}
	c.Fit(x+w+2, y, note, g.note, screen.Dim)
}

// when names the moment that the page is about.
func (p *Page) when() string {
	switch {
	case p.live() && p.at() != p.Scene.Cursor():
		return "at the peak of step " + screen.Count(int(p.Scene.LastStep.Number))
	case p.live():
		return p.hereText()
	}
	return [...]string{atPeak: "at the peak", atEnd: "at the end", atCursor: "at the cursor"}[p.moment]
}

// hereText names the cursor's moment, of a program.
func (p *Page) hereText() string {
	switch {
	case !p.Scene.AtEnd():
		return "at the cursor"
	case p.Scene.Behind() > 0:
		return "after step " + screen.Count(int(p.Scene.Behind()))
	case p.Scene.Live().Connected && p.Scene.Growing():
		return "now"
	case p.Scene.Trace().Info.Kind == "live":
		return "last known"
	default:
		return "at the end"
	}
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
			name := f.names[i]
			if h.Held == h.Bytes && p.Scene.Index.History() {
				name += p.heldNote()
			}
			c.Fit(22, 1+i, c.Width()-23, name, screen.Plain)
		}
	}}
}

// heldNote says of memory since when it is held.
func (p *Page) heldNote() string {
	if p.live() {
		return " (since before attaching)"
	}
	return " (held before recording)"
}

func (p *Page) ooms() section {
	ooms := p.Scene.OOMs
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
			c.Fit(1, 1+i, 18, page.PoolText(p.Scene.Tables(), u.Pool), screen.Plain)
			c.Right(19, 1+i, 14, screen.Plural(u.Segments, "segment"), screen.Dim)
			c.Right(34, 1+i, 20, screen.Bytes(u.Reserved)+" reserved", screen.Plain)
			c.Right(55, 1+i, 18, screen.Bytes(u.Active)+" active", screen.Plain)
		}
	}}
}

// pinnedLines is how many lines of the program the section of pinned memory names.
const pinnedLines = 3

// pinned is about host memory, so it keeps its own moments: its peak and the end.
func (p *Page) pinned() section {
	of := p.Scene.Pinned
	if of == nil {
		return section{}
	}
	s := of.Summary()
	lines := of.Lines[:min(len(of.Lines), pinnedLines)]
	return section{3 + len(lines), func(c screen.Canvas) {
		c.Rule(0, "Pinned host memory", "beside the device's", false)
		for i, g := range []gauge{
			{name: "at the end", bytes: s.Active, note: screen.Bytes(s.Reserved) + " held"},
			{name: "peak", bytes: s.PeakRequested, note: screen.Bytes(s.PeakReserved) + " held"},
		} {
			g.style = screen.Style{Fg: screen.Muted}
			drawGauge(c, 1+i, g, max(s.PeakReserved, 1))
		}
		for i, row := range lines {
			c.Right(1, 3+i, screen.BytesWidth, screen.Bytes(row.Self), screen.Plain)
			c.Right(12, 3+i, 8, "×"+screen.Count(row.SelfCount), screen.Dim)
			c.Fit(22, 3+i, c.Width()-23, row.Name, screen.Plain)
		}
	}}
}

// source says what was read and what to beware of.
func (p *Page) source() section {
	t, d := p.Scene.Trace(), p.Scene.Index.Device()
	info, s := &t.Info, &p.Scene.Summary
	container := info.Container
	if info.PickleProtocol >= 0 {
		container += ", pickle protocol " + strconv.Itoa(info.PickleProtocol)
	}
	lines := []page.Line{
		page.Pair("file", info.Path),
		page.Pair("written by", info.Writer),
		page.Pair("as", container+", "+screen.Bytes(info.Bytes)),
		page.Pair("has", screen.Plural(s.Events, "event")+", "+screen.Plural(s.DistinctStacks, "stack")+", "+
			p.Scene.Index.SegmentsText(s.Segments)+", "+screen.Plural(s.Blocks, "block")+", "+screen.Plural(len(t.Annotations), "annotation")),
	}
	if s.Held > 0 {
		lines = append(lines, page.Pair("before", screen.Bytes(s.InitialRequested)+" in "+screen.Plural(s.Held, "allocation")+" from before recording"))
	}
	if d.Overflowed {
		lines = append(lines, page.Line{Label: "beware", Text: "the recording's ring buffer overflowed: older events are lost", Style: screen.Warn})
	}
	for _, notice := range t.Notices {
		lines = append(lines, page.Line{Label: "notice", Text: notice, Style: screen.Warn})
	}
	return sourceSection(info.Kind, lines)
}

func sourceSection(kind string, lines []page.Line) section {
	return section{1 + len(lines), func(c screen.Canvas) {
		c.Rule(0, "Source", kind, false)
		var all page.Reader
		all.Resize(len(lines), len(lines))
		all.Draw(c, 1, lines)
	}}
}
