package overview

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/host"
	"github.com/memtop/memtop/tui/screen"
)

// hostLedger shows what the program has of the machine's memory.
func (p *Page) hostLedger(compact bool) section {
	f, ok := p.asked.Answer()
	if !ok || f.hostGauge == nil {
		return section{}
	}
	l := &f.ledger
	rows, droppable := make([]fall, len(l.Rows)), -1
	for i, row := range l.Rows {
		rows[i] = fall{name: row.Name, bytes: row.Bytes, style: hostStyle(row.Kind)}
		if row.Kind.Droppable() {
			droppable = i
		}
	}
	right := p.limitText(&f)
	if compact {
		right = "= " + screen.Bytes(l.Bytes) + " of " + l.Whose
		if limit, known := f.hostGauge.Nearest(); known {
			right += ", " + screen.Bytes(limit.Left()) + " left"
		}
	}
	return p.ledgerSection("On the host", right, rows, l.Bytes, droppable, compact)
}

// ledgerSection shows rows that add up, on a small screen one bar of all rows and a
// line of the largest. The row that the line ends with is droppable.
func (p *Page) ledgerSection(title, right string, rows []fall, whole int64, droppable int, compact bool) section {
	if compact {
		return section{3, func(c screen.Canvas) {
			c.Rule(0, title, right, false)
			drawStacked(c, rows, whole)
			c.Fit(1, 2, c.Width()-2, largestText(rows, droppable), screen.Plain)
		}}
	}
	return section{2 + len(rows), func(c screen.Canvas) {
		c.Rule(0, title+", "+p.when(), right, false)
		p.drawFalls(c, rows, whole)
		drawSum(c, len(rows)+1, nameWidth(rows), "= in all", whole)
	}}
}

// limitText says what is left of the limit that is nearest, and what looking costs.
func (p *Page) limitText(f *facts) string {
	text := "looking took " + screen.Micros(f.hostGauge.Host.CostNS/1000)
	if limit, known := f.hostGauge.Nearest(); known {
		text = screen.Bytes(limit.Left()) + " left of " + limit.Whose + " · " + text
	}
	return text
}

// drawStacked draws all rows as one bar.
func drawStacked(c screen.Canvas, rows []fall, whole int64) {
	w, from, sum := c.Width()-2, 0, int64(0)
	for _, row := range rows {
		sum += row.bytes
		to := int(float64(w) * float64(sum) / float64(max(whole, 1)))
		for i := max(from, 0); i < min(to, w); i++ {
			c.Set(1+i, 1, '█', row.style)
		}
		from = to
	}
}

// largestText names the rows, the largest first. The one at a place is last: what the
// kernel may drop.
func largestText(rows []fall, droppable int) string {
	order := slices.Clone(rows)
	if droppable >= 0 {
		order = append(slices.Delete(order, droppable, droppable+1), rows[droppable])
	}
	slices.SortStableFunc(order[:len(order)-min(1, droppable+1)], func(a, b fall) int { return cmp.Compare(b.bytes, a.bytes) })
	parts := make([]string, len(order))
	for i, row := range order {
		parts[i] = row.name + " " + screen.Bytes(row.bytes)
	}
	return strings.Join(parts, " · ")
}

func hostStyle(k host.Kind) screen.Style {
	switch k {
	case host.Unexplained:
		return screen.Bad
	case host.Freed:
		return screen.Style{Fg: screen.Warning}
	case host.Files, host.Kernel, host.Box:
		return screen.Style{Fg: screen.Muted}
	case host.Others:
		return screen.Style{Fg: screen.Held}
	default:
		return screen.Style{Fg: screen.Band(int(k))}
	}
}
