package overview

import (
	"strings"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/screen"
)

// liveFalls is the waterfall of a running program. It ends with the driver's
// number of used bytes, if known. It leaves out categories from the program, and
// on small screens all rows, that have never had memory, so that no row comes and
// goes.
func (p *Page) liveFalls(f *facts, compact bool) section {
	rows, sum := make([]fall, 0, len(f.rows)), int64(0)
	for i := range f.rows {
		row := &f.rows[i]
		sum += row.Bytes
		never := !p.seen[row.Kind][row.Category] && row.Kind != analysis.UnexplainedRow
		if p.pointless(row.Kind) || never && (compact || row.Kind == analysis.PurposeRow && !p.Scene.Index.Guessed()) {
			continue
		}
		rows = append(rows, fall{name: row.Name, bytes: row.Bytes, style: fallStyle(row)})
		if row.Kind == analysis.PurposeRow {
			rows[len(rows)-1].chosen = p.chosen(row.Category)
			rows = append(rows, p.rulesOf(f, row.Category)...)
		}
	}
	whole := "reserved"
	switch {
	case p.Scene.Index.Uncached():
		whole = "allocated"
	case f.gauged:
		whole = "used on the device"
	}
	title, right := "What it is, "+p.when(), "= "+screen.Bytes(sum)+" "+whole
	if !compact {
		right = p.certainty(f, 0)
	}
	height := 1 + len(rows)
	if !compact {
		height++
	}
	below := f.hostFalls(compact)
	height += len(below)
	return section{height, func(c screen.Canvas) {
		c.Rule(0, title, right, false)
		p.drawFalls(c, rows, sum)
		if !compact {
			drawSum(c, len(rows)+1, nameWidth(rows), "= "+whole, sum)
		}
		for i, row := range below {
			row.draw(c, height-len(below)+i, nameWidth(rows))
		}
	}}
}

// hostFall is a row below the waterfall, which is not in its sum.
type hostFall struct {
	name  string
	bytes int64
	parts []string
}

// hostFalls are the memory on the host and, where there is room, what a step copies.
func (f *facts) hostFalls(compact bool) (rows []hostFall) {
	if len(f.host) > 0 {
		there := hostFall{name: "on the host"}
		for _, row := range f.host {
			there.bytes += row.Bytes
			there.parts = append(there.parts, screen.Bytes(row.Bytes)+" "+row.Name)
		}
		rows = append(rows, there)
	}
	if !compact && f.toHost+f.fromHost > 0 {
		rows = append(rows, hostFall{"copied in a step", f.toHost + f.fromHost, []string{
			screen.Bytes(f.toHost) + " to the host", screen.Bytes(f.fromHost) + " from it",
		}})
	}
	return rows
}

func (h *hostFall) draw(c screen.Canvas, y, width int) {
	x := width + screen.BytesWidth + 3
	c.Fit(1, y, width, h.name, screen.Plain)
	c.Right(1+width, y, screen.BytesWidth, screen.Bytes(h.bytes), screen.Strong)
	c.Fit(x, y, c.Width()-x-1, strings.Join(h.parts, ", "), screen.Dim)
}

// pointless reports whether a kind of rows must be empty.
func (p *Page) pointless(kind analysis.RowKind) bool {
	return p.Scene.Index.Uncached() && kind != analysis.PurposeRow && kind != analysis.UnseenRow
}

// rowKinds is how many kinds of rows a waterfall has.
const rowKinds = int(analysis.UnexplainedRow) + 1

// see notes which rows have had memory.
func (p *Page) see() {
	f, _ := p.asked.Answer()
	for i := range f.rows {
		if row := &f.rows[i]; row.Bytes != 0 {
			p.seen[row.Kind][row.Category] = true
		}
	}
}

func fallStyle(row *analysis.Row) screen.Style {
	switch row.Kind {
	case analysis.PurposeRow:
		return screen.Style{Fg: screen.Band(row.Category.Place())}
	case analysis.RoundingRow:
		return screen.Style{Fg: screen.Warning}
	case analysis.OutsideRow:
		return screen.Style{Fg: screen.Held}
	case analysis.UnexplainedRow:
		return screen.Bad
	default:
		return screen.Style{Fg: screen.Muted}
	}
}
