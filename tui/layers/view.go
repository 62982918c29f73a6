package layers

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/page"
	"github.com/memtop/memtop/tui/screen"
)

// The rows around the list: title, headings, totals and detail.
const (
	detailRows = 3
	frameRows  = 2 + 1 + detailRows
)

// tableRect is the place of the table, with its heads.
func tableRect(w, h int) screen.Rect { return screen.Rect{Y: 1, W: w, H: h - frameRows + 1} }

// Lacks says what a file without layers lacks.
func (p *Page) Lacks() string {
	if p.Scene.Live() != nil {
		return ""
	}
	return "Layers are those of a program that measures them: `memtop attach PID` looks at one"
}

// View draws the page.
func (p *Page) View(w, h int) string {
	c := screen.New(p.Scene.Theme, w, h)
	if p.data == nil || p.Scene.StepAt(p.Scene.Cursor()) == nil {
		page.DrawNeeds(c, "Layers", p.lack())
		return c.String()
	}
	c.Rule(0, p.title(), p.state(), true)
	p.table.Draw(c.Sub(tableRect(w, h)))
	if p.table.Count == 0 {
		p.table.Empty(c.Sub(tableRect(w, h)), "")
	}
	p.table.DrawTotal(c, h-detailRows-1, screen.Plural(p.data.Total.Layers, "layer"))
	p.drawDetail(c.Sub(screen.Rect{Y: h - detailRows, W: w, H: detailRows}))
	return c.String()
}

// lack says why there are no layers.
func (p *Page) lack() string {
	switch {
	case p.step() == 0 && len(p.Scene.Trace().Steps) > 0:
		return "No step has ended before the cursor: $ goes to the end."
	case p.step() == 0:
		return "No step has ended yet: layers are measured in each, and this page shows the last."
	case p.asked.Busy():
		return "adding up the layers …"
	}
	return "The program does not measure its layers: forward hooks are off, or it has none."
}

func (p *Page) title() string {
	text := "Layers of step " + screen.Count(int(p.data.Step.Number))
	if p.table.Filter != "" {
		text += " matching “" + p.table.Filter + "”"
	}
	return text
}

// hostTimes is the setting of a step whose layers were timed on the host, without
// waiting for the device.
var hostTimes = trace.Value{Key: "layer_times", Value: "processor"}

// state describes the numbers and their order.
func (p *Page) state() string {
	text := "times: median of " + screen.Plural(p.data.steps, "step")
	if p.data.steps == 1 {
		text = "times of this step"
	}
	if slices.Contains(p.data.Step.Settings, hostTimes) {
		text += ", of the processor, not the device"
	}
	if p.table.Order.Inverse {
		text += " · inverted"
	}
	return text
}

// drawDetail shows the facts of the selected layer that have no room in the
// columns.
func (p *Page) drawDetail(c screen.Canvas) {
	i := p.current()
	if i < 0 {
		return
	}
	r := &p.data.Rows[i]
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
	if r.OnHost {
		times += " · computed by the host: what it keeps is not on the device"
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
