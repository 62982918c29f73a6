package overview

import (
	"slices"
	"strconv"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/screen"
)

const deviceWidth = 19 // the width of a device in the strip

// devices is a strip of all devices of the trace, if there are several: the
// memory of each at the end, and which of them ran out of memory.
func (p *Page) devices(w int) section {
	all := p.Scene.Trace().Devices
	if len(all) < 2 {
		return section{}
	}
	seen, _ := p.looked.Answer()
	columns := max((w-2)/deviceWidth, 1)
	rows := (len(all) + columns - 1) / columns
	return section{1 + rows, func(c screen.Canvas) {
		c.Rule(0, screen.Plural(len(all), "device")+", reserved at the end", "d next device", false)
		for i := range all {
			d := &all[i]
			x, y := 1+i%columns*deviceWidth, 1+i/columns
			style, mark := screen.Plain, ' '
			if d.ID == p.Scene.Index.Device().ID {
				style, mark = screen.Title, '▸'
			}
			c.Set(x, y, mark, style)
			c.Fit(x+1, y, 4, strconv.Itoa(d.ID), style)
			c.Right(x+5, y, screen.BytesWidth, screen.Bytes(d.Final.Reserved()), style)
			if slices.ContainsFunc(seen.short, func(s analysis.Shortage) bool { return s.Device == d.ID }) {
				c.Text(x+6+screen.BytesWidth, y, "✗", screen.Bad)
			}
		}
	}}
}
