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
	rows := make([]fall, len(l.Rows))
	for i, row := range l.Rows {
		rows[i] = fall{name: row.Name, bytes: row.Bytes, style: hostStyle(row.Kind), foreign: !row.Kind.Own()}
	}
	right := p.limitText(&f)
	if compact {
		right = "= " + screen.Bytes(l.Bytes) + " of " + l.Whose
		if limit, known := f.hostGauge.Nearest(); known {
			right += ", " + screen.Bytes(limit.Left()) + " left"
		}
	}
	return p.ledgerSection("On the host", right, rows, l.Bytes, compact)
}

// ledgerSection shows rows that add up, on a small screen one bar of all rows and a
// line of the largest.
func (p *Page) ledgerSection(title, right string, rows []fall, whole int64, compact bool) section {
	if compact {
		return section{3, func(c screen.Canvas) {
			c.Rule(0, title, right, false)
			drawStacked(c, rows, whole)
			c.Fit(1, 2, c.Width()-2, largestText(rows), screen.Plain)
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
		text = screen.Bytes(limit.Left()) + " left of " + limit.Whose() + " · " + text
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

// largestText names the rows, the largest first, and last those that are not the
// program's own.
func largestText(rows []fall) string {
	order := slices.Clone(rows)
	slices.SortStableFunc(order, func(a, b fall) int {
		switch {
		case a.foreign == b.foreign:
			return cmp.Compare(b.bytes, a.bytes)
		case b.foreign:
			return -1
		default:
			return 1
		}
	})
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
