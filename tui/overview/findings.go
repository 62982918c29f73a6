package overview

import (
	"context"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"

	tea "charm.land/bubbletea/v2"
)

// lookout has the findings on the device, its CUDA graphs, and the devices that ran out
// of memory.
type lookout struct {
	found  []analysis.Finding
	graphs *analysis.Graphs // nil for none
	short  []analysis.Shortage
}

// lookQuestion asks for the findings with what is known beside a device's events by now.
type lookQuestion struct {
	index  page.Edition
	beside analysis.Beside
}

func look(_ context.Context, q lookQuestion) lookout {
	x := q.index
	o := lookout{found: x.FindingsWith(q.beside), graphs: x.Graphs(q.beside.Replay)}
	if x.Trace().Info.Growing || len(x.Trace().Devices) < 2 {
		return o
	}
	o.short = analysis.Shortages(x.Trace())
	for _, s := range o.short {
		if s.Device != x.Device().ID {
			o.found = append(o.found, analysis.Finding{
				Kind: analysis.ShortageFinding, Severity: analysis.Problem, Confidence: analysis.Certain,
				Where: analysis.Where{Event: analysis.NoEvent}, Evidence: s.String() + "; d goes to the next device",
			})
		}
	}
	slices.SortStableFunc(o.found, func(a, b analysis.Finding) int { return int(b.Severity) - int(a.Severity) })
	return o
}

// compare returns what the device holds more than the others of the trace, nil for
// nothing.
func compare(ctx context.Context, x page.Edition) *analysis.Finding {
	t := x.Trace()
	all := make([]*analysis.Index, 0, len(t.Devices))
	for i := range t.Devices {
		if ctx.Err() != nil {
			return nil
		}
		if d := &t.Devices[i]; d.ID == x.Device().ID {
			all = append(all, x.Index)
		} else {
			all = append(all, analysis.NewIndex(t, d))
		}
	}
	if fullest, uneven := analysis.Uneven(all); fullest == x.Index {
		return uneven
	}
	return nil
}

// askBeside asks for what the device's own events do not tell, and returns what of it is
// known by now. A trace that grows is not asked.
func (p *Page) askBeside() (beside analysis.Beside, cmd tea.Cmd) {
	x := p.Scene.Edition()
	if p.Scene.Growing() {
		return beside, nil
	}
	if len(x.Trace().Devices) > 1 {
		cmd = p.compared.Ask(x)
	}
	if uneven, _ := p.compared.Answer(); p.compared.Answered() == x {
		beside.Uneven = uneven
	}
	if replay, _ := p.replayed.Answer(); p.replayed.Answered().index == x {
		beside.Replay = replay
	}
	return beside, cmd
}

// pageOf returns the page that a finding leads to.
func pageOf(f *analysis.Finding) string {
	if f.Kind == analysis.LeakFinding {
		return page.Tensors
	}
	return page.Timeline
}

// shownFindings returns the findings that fit into a number of rows: from the
// first on, or from the chosen one on if that would otherwise not fit.
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
			text, style := p.nothingText()
			c.Text(3, 1, text, style)
		}
	}}
}

// briefly shows the chosen finding alone, cut to a fixed number of rows.
func (p *Page) briefly() section {
	return section{sentences, func(c screen.Canvas) {
		if p.finding >= len(p.found) {
			text, style := p.nothingText()
			if _, ok := p.looked.Answer(); !ok {
				text, style = "looking …", screen.Dim
			}
			c.Text(3, 0, text, style)
			return
		}
		f := &p.found[p.finding]
		c.Set(1, 0, page.SeverityMark[f.Severity], page.SeverityStyle[f.Severity])
		more := ""
		if n := len(p.found); n > 1 {
			more = " " + screen.Count(p.finding+1) + "/" + screen.Count(n) + " n next"
		}
		lines := p.findingLines(p.finding, c.Width())
		for y, line := range lines[:min(len(lines), sentences)] {
			room := c.Width() - 4
			if y == sentences-1 {
				room -= screen.Width(more)
				if len(lines) > sentences {
					line = screen.Truncate(line+" …", room)
				}
			}
			c.Fit(3, y, room, line, screen.Plain)
		}
		c.Right(0, sentences-1, c.Width()-1, more, screen.Dim)
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
	if i == p.finding && len(p.found) > 1 && p.category < 0 {
		c.Set(0, y, '▸', screen.Title)
	}
	c.Set(1, y, page.SeverityMark[f.Severity], page.SeverityStyle[f.Severity])
	for _, line := range p.findingLines(i, c.Width()) {
		c.Text(3, y, line, screen.Plain)
		y++
	}
	return y
}

// nothingText is in place of the findings if there are none.
func (p *Page) nothingText() (string, screen.Style) {
	if l := p.Scene.Live(); l != nil && l.Looking {
		return "a first step is being measured …", screen.Dim
	}
	return "nothing looks wrong", screen.Fine
}
