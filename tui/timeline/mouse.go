package timeline

import (
	tea "charm.land/bubbletea/v2"
)

// pointAt moves the cursor to the event that a column of the screen shows.
func (p *Page) pointAt(x int) {
	if p.chart == nil || len(p.chart.Columns) == 0 {
		return
	}
	columns := p.chart.Columns
	c := min(max(x-p.shape.plot.X, 0), len(columns)-1)
	p.Scene.Move(columns[c].At)
}

func (p *Page) click(msg tea.MouseClickMsg) tea.Cmd {
	if p.shape.chart.Contains(msg.X, msg.Y) {
		p.dragging = true
		p.pointAt(msg.X)
		return nil
	}
	return p.drill.click(msg, p)
}

// wheel zooms on the chart, around the mouse; sideways it pans. On the lists
// it scrolls.
func (p *Page) wheel(msg tea.MouseWheelMsg) {
	if !p.shape.chart.Contains(msg.X, msg.Y) {
		p.drill.wheel(msg, p)
		return
	}
	around := p.Scene.Cursor()
	if c := msg.X - p.shape.plot.X; p.chart != nil && c >= 0 && c < len(p.chart.Columns) {
		around = p.chart.Columns[c].At
	}
	switch {
	case msg.Button == tea.MouseWheelLeft, msg.Mod.Contains(tea.ModShift) && msg.Button == tea.MouseWheelUp:
		p.pan(-0.1)
	case msg.Button == tea.MouseWheelRight, msg.Mod.Contains(tea.ModShift) && msg.Button == tea.MouseWheelDown:
		p.pan(0.1)
	case msg.Button == tea.MouseWheelUp:
		p.window = p.axis().zoom(p.window, around, 0.8)
		p.chosen()
	case msg.Button == tea.MouseWheelDown:
		p.window = p.axis().zoom(p.window, around, 1.25)
		p.chosen()
	}
}
