package experiments

import (
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// Lacks says what a file without experiments lacks.
func (p *Page) Lacks() string {
	if p.Scene.Live() != nil {
		return ""
	}
	return "Experiments are those of a running program, or a recording of one"
}

// shape is where the panes are.
type shape struct {
	options, changes, detail screen.Rect
	brief                    bool // the options are only named while the user looks at changes
}

// detailRows is what the detail of a change takes: title, heads, quantities.
const detailRows = 2 + len(names)

func (p *Page) newShape(w, h int) shape {
	all := screen.Rect{W: w, H: h}
	offered := len(p.Scene.Live().Options)
	switch {
	case p.Alone && p.focus == changes:
		return shape{changes: all}
	case p.Alone:
		return shape{options: all}
	case w >= 140:
		var s shape
		s.options, s.changes = all.Left(min(w/3, 70))
		s.changes, s.detail = s.changes.Bottom(min(detailRows+4, h/2))
		return s
	case p.focus == changes:
		s := shape{brief: true}
		s.options, s.changes = all.Top(2 + min(max(h-16, 0), 1))
		s.changes, s.detail = s.changes.Bottom(detailRows + min(max(h-22, 0), 4))
		return s
	default:
		s := shape{}
		s.options, s.changes = all.Top(min(max(offered, 4)+1, h-5))
		if s.changes.H > detailRows+6 && p.table.Count > 0 {
			s.changes, s.detail = s.changes.Bottom(detailRows)
		}
		return s
	}
}

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.Scene.Theme, w, h)
	s := p.newShape(w, h)
	switch {
	case s.options.H == 0:
	case s.brief:
		p.drawBrief(c.Sub(s.options))
	default:
		p.drawOptions(c.Sub(s.options))
	}
	p.drawChanges(c.Sub(s.changes), s.changes.X > 0)
	p.drawDetail(c.Sub(s.detail), s.detail.X > 0)
	return c.String()
}

// optionsTitle says when the values take effect.
func (p *Page) optionsTitle() string {
	if p.Scene.Trace().Info.Kind == "recording" || !p.Scene.Live().Connected {
		return "Settings at the end"
	}
	return "Settings of the next step"
}

// drawBrief names the settings in as many rows as there are.
func (p *Page) drawBrief(c screen.Canvas) {
	hint := "v changes them"
	if p.fixed() != "" {
		hint = ""
	}
	c.Rule(0, p.optionsTitle(), hint, false)
	x, y := 1, 1
	for _, o := range p.Scene.Live().Options {
		w := screen.Width(o.Key) + 1 + screen.Width(o.Value)
		if x > 1 && x+w > c.Width()-1 {
			x, y = 1, y+1
		}
		x = c.Text(x, y, o.Key, screen.Dim)
		x = c.Text(x+1, y, o.Value, screen.Strong) + 3
	}
}

func (p *Page) drawOptions(c screen.Canvas) {
	if o := p.option(); o != nil {
		p.choices.Draw(c)
		c.Rule(0, o.Key+": choose", "esc back", true) // in the place of heads
		return
	}
	p.options.Draw(c)
	focused, hint := p.focus == options, "enter chooses"
	if p.fixed() != "" {
		hint = ""
	}
	c.Rule(0, p.optionsTitle(), hint, focused)
	all := p.Scene.Live().Options
	if len(all) == 0 {
		c.Fit(1, 1, c.Width()-2, "The program offers nothing that could be changed.", screen.Dim)
	}
	if o, ok := p.options.Current(); ok {
		drawAbout(c, len(all)+2, &o)
	}
}

// drawAbout draws the whole description of an option if there is room below the
// list.
func drawAbout(c screen.Canvas, y int, o *trace.Option) {
	for _, text := range [...]string{o.About, choicesText(o)} {
		for _, line := range screen.Wrap(text, c.Width()-4) {
			if y >= c.Height() {
				return
			}
			c.Fit(1, y, c.Width()-3, line, screen.Dim)
			y++
		}
	}
}

// choicesText lists the choices of an option.
func choicesText(o *trace.Option) string {
	text := strings.Join(o.Choices, ", ")
	switch {
	case o.Free && text != "":
		return text + ", or another value"
	case o.Free:
		return "any value"
	}
	return text
}

func optionColumns() []page.Column[trace.Option] {
	strong, dim := func(trace.Option) screen.Style { return screen.Strong }, func(trace.Option) screen.Style { return screen.Dim }
	return []page.Column[trace.Option]{
		{Width: page.Cells(13), Left: true, Text: func(o trace.Option) string { return o.Key }},
		{Width: page.Cells(15), Left: true, Style: strong, Text: func(o trace.Option) string { return o.Value }},
		{Rest: page.All, Left: true, Style: dim, Text: optionText},
	}
}

// optionText says what an option can be, and what it is.
func optionText(o trace.Option) string {
	if o.About == "" {
		return choicesText(&o)
	}
	return choicesText(&o) + " · " + o.About
}

// drawChoice draws a choice, and says whether it holds now.
func (p *Page) drawChoice(c screen.Canvas, choice string) {
	x := c.Text(2, 0, choice, screen.Plain)
	if o := p.option(); o != nil && choice == o.Value {
		c.Text(x+2, 0, "now", screen.Title)
	}
}
