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
		right = exactness(f)
	}
	height := 1 + len(rows)
	if !compact {
		height++
	}
	if len(f.host) > 0 {
		height++
	}
	return section{height, func(c screen.Canvas) {
		c.Rule(0, title, right, false)
		p.drawFalls(c, rows, sum)
		if !compact {
			drawSum(c, len(rows)+1, nameWidth(rows), "= "+whole, sum)
		}
		if len(f.host) > 0 {
			drawHost(c, height-1, nameWidth(rows), f.host)
		}
	}}
}

// drawHost draws the memory on the host, which is not in the sum.
func drawHost(c screen.Canvas, y, width int, rows []analysis.Row) {
	whole, parts := int64(0), make([]string, len(rows))
	for i, row := range rows {
		whole += row.Bytes
		parts[i] = screen.Bytes(row.Bytes) + " " + row.Name
	}
	x := width + screen.BytesWidth + 3
	c.Fit(1, y, width, "on the host", screen.Plain)
	c.Right(1+width, y, screen.BytesWidth, screen.Bytes(whole), screen.Strong)
	c.Fit(x, y, c.Width()-x-1, strings.Join(parts, ", "), screen.Dim)
}

// pointless reports whether a kind of rows must be empty.
func (p *Page) pointless(kind analysis.RowKind) bool {
	return p.Scene.Index.Uncached() && (kind != analysis.PurposeRow)
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

// notYet is about categories before a program has looked at a whole step.
const notYet = "most is not looked at yet"

// exactness says whether categories are known or guessed.
func exactness(f *facts) string {
	switch {
	case f.looking:
		return notYet
	case f.guessed:
		return "some categories guessed from stacks"
	}
	return "categories exact"
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
