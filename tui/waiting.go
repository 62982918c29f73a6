package tui

import "github.com/memtop/memtop/tui/screen"

// waiting draws the page of a file that is loading, or says why it failed to
// load.
func (m *Model) waiting(w, h int) string {
	c := screen.New(m.theme, w, h)
	f := m.file()
	y := max(h/2-3, 0)
	c.Middle(0, y, w, baseName(f.name), screen.Strong)
	switch f.state {
	case loading:
		m.progress(c, f, y+2)
	case empty:
		c.Middle(0, y+2, w, "The program has not used its device yet; this page opens when it does.", screen.Plain)
	case indexing:
		c.Middle(0, y+2, w, "reading the events of device "+screen.Count(f.device)+" …", screen.Plain)
	case failed:
		what := "This file could not be opened."
		if f.live {
			what = "There is nothing to attach to."
		}
		failure(c, y+2, what, f.err)
	case cancelled:
		c.Middle(0, y+2, w, "The load was cancelled.", screen.Plain)
		c.Middle(0, y+4, w, "enter loads it again · q quits", screen.Dim)
	case idle, ready:
	}
	return c.String()
}

// progress draws the bar, the bytes and the rate.
func (m *Model) progress(c screen.Canvas, f *file, y int) {
	w := min(60, c.Width()-8)
	x := (c.Width() - w) / 2
	read, total := f.read.Load(), f.total.Load()
	if total > 0 {
		for i := range w {
			c.Set(x+i, y, '░', screen.Dim)
		}
		c.Bar(x, y, w, float64(read)/float64(total), screen.Style{Fg: screen.Accent})
	}
	c.Middle(0, y+1, c.Width(), m.progressText(f, read, total), screen.Plain)
	c.Middle(0, y+3, c.Width(), "esc cancels", screen.Dim)
}

func (m *Model) progressText(f *file, read, total int64) string {
	of, share, rate := "", "", ""
	if total > 0 {
		of, share = " of "+screen.Bytes(total), screen.Percent(read, total)
	}
	if s := m.now().Sub(f.began).Seconds(); s > 0.05 && read > 0 {
		rate = screen.Bytes(int64(float64(read)/s)) + "/s"
	}
	return describe(screen.Bytes(read)+of, share, rate)
}

// failure draws why a load failed, wrapped to the width.
func failure(c screen.Canvas, y int, what string, err error) {
	c.Middle(0, y, c.Width(), what, screen.Bad)
	room := min(c.Width()-8, 90)
	lines := screen.Wrap(err.Error(), room)
	for i, line := range lines {
		c.Text((c.Width()-room)/2, y+2+i, line, screen.Plain)
	}
	c.Middle(0, y+3+len(lines), c.Width(), "enter tries again · q quits", screen.Dim)
}
