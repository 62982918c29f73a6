package layers

import (
	"memtop/snapshots/analysis"
	"memtop/snapshots/trace"
	"memtop/tui/find"
	"memtop/tui/page"
	"memtop/tui/screen"
)

// The rows around the list: title, headings, totals and detail.
const (
	detailRows = 3
	frameRows  = 2 + 1 + detailRows
)

// need is what a file lacks that has no layers.
const need = "This page needs a program that measures its layers: `memtop demo` starts one, `memtop attach PID` looks at one."

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.scene.Theme, w, h)
	if p.table == nil || p.scene.StepAt(p.scene.Cursor()) == nil {
		page.DrawNeeds(c, "Layers", p.lack())
		return c.String()
	}
	c.Rule(0, p.title(), p.state(), true)
	columns, name := fitting(w)
	p.drawHeads(c, columns, name)
	from, to := p.list.Visible()
	for i := from; i < to && i-from < h-frameRows; i++ {
		p.drawRow(c, 2+i-from, p.rows[i], columns, name)
		if i == p.list.Cursor {
			c.Select(2 + i - from)
		}
	}
	list := p.list
	list.Scrollbar(c, w-1, 2)
	p.drawTotal(c, h-detailRows-1, columns, name)
	p.drawDetail(c.Sub(screen.Rect{Y: h - detailRows, W: w, H: detailRows}))
	return c.String()
}

// lack says why there are no layers.
func (p *Page) lack() string {
	switch {
	case p.scene.Live() == nil:
		return need
	case p.step() == 0 && len(p.scene.Trace().Steps) > 0:
		return "No step has ended before the cursor: $ goes to the end."
	case p.step() == 0:
		return "No step has ended yet: layers are measured in each, and this page shows the last."
	case p.asked.Busy():
		return "adding up the layers …"
	}
	return "The program does not measure its layers: forward hooks are off, or it has none."
}

func (p *Page) title() string {
	text := "Layers of step " + screen.Count(int(p.table.Step.Number))
	if p.filter != "" {
		text += " matching “" + p.filter + "”"
	}
	return text
}

// state says what the numbers are, and the order.
func (p *Page) state() string {
	text := "times: median of " + screen.Plural(p.table.steps, "step")
	if p.table.steps == 1 {
		text = "times of this step"
	}
	if p.sort.inverse {
		text += " · inverted"
	}
	return text
}

func (p *Page) drawHeads(c screen.Canvas, columns []column, name int) {
	c.Fit(1, 1, name, p.head("layer", byOrder), screen.Dim)
	x := name + 2
	for _, col := range columns {
		head := p.head(col.head, col.id)
		if col.left {
			c.Fit(x, 1, col.width+1, head, screen.Dim)
		} else {
			c.Right(x, 1, col.width, head, screen.Dim)
		}
		x += col.width + 2
		if col.id == bySaved {
			c.Text(x-1, 1, "share", screen.Dim)
			x += barWidth + 1
		}
	}
}

// head marks the column that layers are sorted by.
func (p *Page) head(name string, id columnID) string {
	switch {
	case p.sort.by != id || id == byOrder && !p.sort.inverse:
		return name
	case p.sort.inverse:
		return name + "▲"
	default:
		return name + "▼"
	}
}

func (p *Page) drawRow(c screen.Canvas, y, i int, columns []column, name int) {
	r := &p.table.Rows[i]
	x := 1 + min(2*r.Depth, name/3)
	marker := '·'
	switch {
	case p.open(i):
		marker = '▾'
	case len(r.Children) > 0:
		marker = '▸'
	}
	c.Set(x, y, marker, screen.Style{Fg: screen.Accent})
	style := screen.Plain
	if i == p.table.largest {
		style = screen.Strong
	}
	if p.search != "" && matches(r, p.search) && find.Text(r.Name, p.search) {
		style = screen.Style{Fg: screen.Accent, Attr: screen.Bold | screen.Underline}
	}
	c.Fit(x+2, y, name-x-1, labelOf(r), style)
	p.drawCells(c, y, i, columns, name)
}

func (p *Page) drawCells(c screen.Canvas, y, i int, columns []column, name int) {
	r := &p.table.Rows[i]
	x := name + 2
	for _, col := range columns {
		style := screen.Plain
		switch {
		case col.id == bySaved && i == p.table.largest:
			style = screen.Strong
		case col.id == byMark:
			style = screen.Style{Fg: screen.Good}
		case col.text(r) == "·":
			style = screen.Dim
		}
		if col.left {
			c.Fit(x, y, col.width, col.text(r), style)
		} else {
			c.Right(x, y, col.width, col.text(r), style)
		}
		x += col.width + 2
		if col.id == bySaved {
			p.drawShare(c, x-1, y, i)
			x += barWidth + 1
		}
	}
}

// drawShare draws how much of all that is saved lies in the layer and inside of
// it. What it saves itself is full, what those inside do is light.
func (p *Page) drawShare(c screen.Canvas, x, y, i int) {
	r, all := &p.table.Rows[i], float64(max(p.table.Total.SavedBytes, 1))
	if r.Sum.SavedBytes == 0 {
		return
	}
	whole := int(float64(r.Sum.SavedBytes)/all*barWidth + 0.999)
	for k := range min(whole, barWidth) {
		c.Set(x+k, y, '░', screen.Style{Fg: screen.Band(trace.Activation.Place())})
	}
	if r.SavedBytes > 0 {
		c.Bar(x, y, barWidth, float64(r.SavedBytes)/all, screen.Style{Fg: screen.Band(trace.Activation.Place())})
	}
	if i == p.table.largest && whole < barWidth-4 {
		c.Text(x+whole+1, y, "most", screen.Warn)
	}
}

func (p *Page) drawTotal(c screen.Canvas, y int, columns []column, name int) {
	for x := range c.Width() {
		c.Set(x, y, '─', screen.Dim)
	}
	c.Text(1, y, " "+screen.Plural(p.table.Total.Layers, "layer")+" ", screen.Strong)
	x := name + 2
	for _, col := range columns {
		if col.sum != nil {
			text := col.sum(&p.table.Total)
			c.Right(x-1, y, col.width+2, " "+text+" ", screen.Strong)
		}
		x += col.width + 2
		if col.id == bySaved {
			x += barWidth + 1
		}
	}
}

// drawDetail tells of the selected layer what the columns have no room for.
func (p *Page) drawDetail(c screen.Canvas) {
	i := p.current()
	if i < 0 {
		c.Text(1, 0, "no layer matches the filter", screen.Dim)
		return
	}
	r := &p.table.Rows[i]
	x := c.Text(1, 0, nameOf(r), screen.Strong)
	c.Fit(x+2, 0, c.Width()-x-3, r.Class+" → "+r.OutputShape+" "+r.DType+", "+some(r.OutputBytes), screen.Plain)
	own := "keeps " + screen.Bytes(r.SavedBytes) + " for the backward pass, has " + screen.Bytes(r.ParameterBytes) + " of parameters"
	if n := r.Sum.Layers - 1; n > 0 {
		own = screen.Plural(n+1, "layer") + " keep " + screen.Bytes(r.Sum.SavedBytes) + " for the backward pass, " + screen.Bytes(r.SavedBytes) +
			" of it itself; " + screen.Bytes(r.Sum.ParameterBytes) + " of parameters"
	}
	c.Fit(1, 1, c.Width()-2, own, screen.Plain)
	times := "forward " + took(r.ForwardNS) + ", backward " + took(r.BackwardNS)
	if r.RecomputeNS > 0 {
		times += ", of it computing again " + took(r.RecomputeNS)
	}
	if r.Checkpointed {
		times += " · checkpointed: computed again instead of kept"
	}
	if r.TransientPeakBytes > 0 {
		times += " · up to " + screen.Bytes(r.TransientPeakBytes) + " more while it ran"
	}
	c.Fit(1, 2, c.Width()-2, times+" · "+screen.Plural(r.Calls, "call"), screen.Dim)
}

// labelOf is a layer's name within the one around it.
func labelOf(r *analysis.LayerRow) string {
	if r.Label == "" {
		return "model"
	}
	return r.Label
}

// nameOf is a layer's whole name.
func nameOf(r *analysis.LayerRow) string {
	if r.Name == "" {
		return "model"
	}
	return r.Name
}
