package experiments

import (
	"strings"

	"github.com/memtop/memtop/snapshots/trace"
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
	hint := "w changes them"
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
		p.drawChoices(c, o)
		return
	}
	focused, hint := p.focus == options, "enter chooses"
	if p.fixed() != "" {
		hint = ""
	}
	c.Rule(0, p.optionsTitle(), hint, focused)
	all := p.Scene.Live().Options
	if len(all) == 0 {
		c.Fit(1, 1, c.Width()-2, "The program offers nothing that could be changed.", screen.Dim)
	}
	list := *p.list(options)
	from, to := list.Visible()
	for i := from; i < min(to, len(all)) && i-from < c.Height()-1; i++ {
		drawOption(c, 1+i-from, &all[i])
		if i == list.Cursor {
			mark(c, 1+i-from, focused)
		}
	}
	list.Scrollbar(c, c.Width()-1, 1)
	if o := p.offered(); o != nil {
		drawAbout(c, len(all)+2, o)
	}
}

// mark shows the row under the cursor of a list, with or without the keys.
func mark(c screen.Canvas, y int, focused bool) {
	if focused {
		c.Select(y)
		return
	}
	c.Set(0, y, '▸', screen.Dim)
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

func drawOption(c screen.Canvas, y int, o *trace.Option) {
	c.Fit(1, y, 13, o.Key, screen.Plain)
	c.Fit(15, y, 15, o.Value, screen.Strong)
	text := choicesText(o)
	if o.About != "" {
		text += " · " + o.About
	}
	c.Fit(31, y, c.Width()-33, text, screen.Dim)
}

func (p *Page) drawChoices(c screen.Canvas, o *trace.Option) {
	c.Rule(0, o.Key+": choose", "esc back", true)
	list, all := *p.list(choices), entries(o)
	from, to := list.Visible()
	for i := from; i < min(to, len(all)) && i-from < c.Height()-1; i++ {
		y := 1 + i - from
		x := c.Text(3, y, all[i], screen.Plain)
		if all[i] == o.Value {
			c.Text(x+2, y, "now", screen.Title)
		}
		if i == list.Cursor {
			c.Select(y)
		}
	}
	list.Scrollbar(c, c.Width()-1, 1)
}
