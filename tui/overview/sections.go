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
	top := max(s.PeakReserved, s.Reserved, s.PeakRequested, 1)
	return listed("Now, and at most", "end of the trace", len(all), func(c screen.Canvas, y, i int) { drawGauge(c, y, all[i], top) })
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
		return "at the peak of step " + screen.Count(int(p.Scene.LastStep.Number)) + p.ago()
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
		return "after step " + screen.Count(int(p.Scene.Behind())) + p.ago()
	case p.Scene.Live().Connected && p.Scene.Growing():
		return "now"
	case p.Scene.Trace().Info.Kind == "live":
		return "last known"
	default:
		return "at the end"
	}
}

// ago says by how many steps what was measured last is older than the last step, "" if
// it is not.
func (p *Page) ago() string {
	if p.Scene.Behind() == 0 {
		return ""
	}
	return ", " + screen.Plural(int(p.Scene.StepAt(p.Scene.Last()).Number-p.Scene.Behind()), "step") + " ago"
}

func (p *Page) holders(most int) section {
	f, ok := p.asked.Answer()
	if !ok || len(f.holders) == 0 {
		return section{}
	}
	return listed("Who holds most, "+p.when(), "by stack", min(len(f.holders), most), func(c screen.Canvas, y, i int) {
		h, name := &f.holders[i], f.names[i]
		if h.Held == h.Bytes && p.Scene.Index.History() {
			name += p.heldNote()
		}
		drawHolder(c, y, h.Bytes, h.Count, name)
	})
}

// drawHolder draws how much something holds, in how many blocks.
func drawHolder(c screen.Canvas, y int, bytes int64, count int, name string) {
	c.Right(1, y, screen.BytesWidth, screen.Bytes(bytes), screen.Plain)
	c.Right(12, y, 8, "×"+screen.Count(count), screen.Dim)
	c.Fit(22, y, c.Width()-23, name, screen.Plain)
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
	return listed(screen.Count(len(ooms))+" out of memory", "o goes there", min(len(ooms), 5), func(c screen.Canvas, y, i int) {
		o := &ooms[i]
		c.Fit(1, y, c.Width()-2, "event "+screen.Count(o.Event)+": "+o.Verdict.String()+"; "+o.Reason, screen.Bad)
	})
}

func (p *Page) pools() section {
	f, ok := p.asked.Answer()
	if !ok || f.state == nil || len(f.state.Pools) < 2 {
		return section{}
	}
	return listed("Memory pools, "+p.when(), "", min(len(f.state.Pools), 8), func(c screen.Canvas, y, i int) {
		u := &f.state.Pools[i]
		c.Fit(1, y, 18, page.PoolText(p.Scene.Tables(), u.Pool), screen.Plain)
		c.Right(19, y, 14, screen.Plural(u.Segments, "segment"), screen.Dim)
		c.Right(34, y, 20, screen.Bytes(u.Reserved)+" reserved", screen.Plain)
		c.Right(55, y, 18, screen.Bytes(u.Active)+" active", screen.Plain)
	})
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
			drawHolder(c, 3+i, row.Self, row.SelfCount, row.Name)
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
