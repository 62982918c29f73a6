package overview

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui/screen"
)

// fall is one row of the waterfall.
type fall struct {
	name   string
	bytes  int64
	style  screen.Style
	none   string // instead of 0 bytes, what is known of them
	part   int64  // of a rule's row: of the category above, and not in the sum
	chosen bool   // the category that Enter opens
	// Not the program's own, or what the system takes back by itself.
	foreign bool
}

// falls returns the rows that sum to reserved memory.
func (p *Page) falls(f *facts) []fall {
	rows := make([]fall, 0, trace.CategoryCount+5)
	rest := f.state.Reserved
	add := func(name string, bytes int64, style screen.Style) {
		rows = append(rows, fall{name: name, bytes: bytes, style: style})
		rest -= bytes
	}
	for _, share := range f.shares {
		if share.Band == trace.CategoryCount {
			add(share.Name, share.Bytes, screen.Style{Fg: screen.Held})
			continue
		}
		add(share.Name, share.Bytes, screen.Style{Fg: screen.Band(share.Band)})
		rows[len(rows)-1].none, rows[len(rows)-1].chosen = share.Empty, p.chosen(share.Category)
		rows = append(rows, p.rulesOf(f, share.Category)...)
	}
	if !p.Scene.Index.Uncached() {
		add("rounding", f.state.Rounding, screen.Style{Fg: screen.Warning})
		add("cached free", f.state.Free, screen.Style{Fg: screen.Muted})
	}
	if rest != 0 {
		add("unexplained", rest, screen.Bad)
	}
	return rows
}

// rulesOf returns a row for each rule that gave memory a category, where they are
// asked for. They are part of the category's row, and have no bar.
func (p *Page) rulesOf(f *facts, c trace.Category) []fall {
	var rows []fall
	for _, r := range f.rules {
		if r.Category == c && !r.Rule.Unplaced() && (p.rules || p.opened[c]) {
			rows = append(rows, fall{name: "  " + r.Rule.String(), style: screen.Dim, part: r.Bytes})
		}
	}
	return rows
}

// waterfall shows what reserved memory is made of. The compact one leaves out
// categories of which there is nothing.
func (p *Page) waterfall(compact bool) section {
	f, ok := p.asked.Answer()
	var rows []fall
	switch {
	case ok && len(f.rows) > 0:
		return p.liveFalls(&f, compact)
	case ok:
		rows = p.falls(&f)
	}
	if compact {
		rows = slices.DeleteFunc(rows, func(r fall) bool { return r.bytes == 0 && r.part == 0 })
	}
	return section{max(len(rows), 1) + 2, func(c screen.Canvas) {
		title := "What reserved memory is, " + p.when()
		if !ok {
			c.Rule(0, title, "", false) // how it is known is not asked here: it may take a second
			c.Text(3, 2, "adding up …", screen.Dim)
			return
		}
		c.Rule(0, title, p.certainty(&f, c.Width()), false)
		p.drawFalls(c, rows, f.state.Reserved)
		drawSum(c, len(rows)+1, nameWidth(rows), "= reserved", f.state.Reserved)
	}}
}

// notYet is about categories before a program has looked at a whole step.
const notYet = "most is not looked at yet"

// certainty says in the title of a part of so many cells how well the categories are
// known. Without an allocator that counts, nothing tells what there is beside what was seen.
func (p *Page) certainty(f *facts, w int) string {
	switch {
	case f.looking:
		return notYet
	case p.Scene.Index.Uncached():
		return "only tensors that were seen"
	case f.guessed && p.live():
		return "some categories guessed from stacks"
	case f.guessed && w < 75:
		return "guessed"
	case f.guessed:
		return "guessed · e by which rules"
	case slices.ContainsFunc(f.shares, func(s analysis.Share) bool { return s.Name == analysis.NotKnown }):
		return "not all was seen"
	}
	return "categories exact"
}

func (p *Page) drawFalls(c screen.Canvas, rows []fall, reserved int64) {
	name := nameWidth(rows)
	x := name + screen.BytesWidth + 10
	w := c.Width() - x - 2
	top, sum := float64(max(reserved, 1)), int64(0)
	y := 1
	for _, row := range rows {
		drawFall(c, y, name, row, reserved)
		from := int(float64(w) * float64(sum) / top)
		sum += row.bytes
		to := int(float64(w)*float64(sum)/top + 0.999)
		if row.bytes > 0 {
			for i := max(from, 0); i < min(max(to, from+1), w); i++ {
				c.Set(x+i, y, '█', row.style)
			}
		}
		y++
	}
}

// drawSum draws what the rows above add up to.
func drawSum(c screen.Canvas, y, width int, name string, bytes int64) {
	x := width + screen.BytesWidth + 10
	c.Fit(1, y, width, name, screen.Strong)
	c.Right(1+width, y, screen.BytesWidth, screen.Bytes(bytes), screen.Strong)
	for i := range c.Width() - x - 2 {
		c.Set(x+i, y, '─', screen.Dim)
	}
}

// nameWidth is the width of the column of names.
func nameWidth(rows []fall) int {
	w := gaugeName
	for i := range rows {
		w = max(w, screen.Width(rows[i].name)+1)
	}
	return w
}

func drawFall(c screen.Canvas, y, name int, row fall, of int64) {
	if row.chosen {
		c.Set(0, y, '▸', screen.Title)
	}
	style := screen.Plain
	if row.bytes == 0 {
		style = screen.Dim
	}
	c.Fit(1, y, name, row.name, style)
	if row.part > 0 {
		c.Right(1+name, y, screen.BytesWidth, screen.Bytes(row.part), screen.Dim)
		c.Right(2+name+screen.BytesWidth, y, 6, screen.Percent(row.part, of), screen.Dim)
		return
	}
	if row.none != "" {
		c.Right(name, y, screen.BytesWidth+1, row.none, style)
		return
	}
	c.Right(1+name, y, screen.BytesWidth, screen.Bytes(row.bytes), style)
	c.Right(2+name+screen.BytesWidth, y, 6, screen.Percent(row.bytes, of), screen.Dim)
}
