package layers

import (
	"slices"

	"memtop/snapshots/analysis"
	"memtop/tui/find"
)

// lay makes the visible rows anew: what is folded and what the filter leaves
// out is gone, and layers are sorted within the one around them.
func (p *Page) lay() {
	p.rows = p.rows[:0]
	if p.table == nil {
		return
	}
	p.kept = p.matching()
	var top []int
	for i := range p.table.Rows {
		if p.table.Rows[i].Parent < 0 {
			top = append(top, i)
		}
	}
	p.layAll(top)
}

func (p *Page) layAll(rows []int) {
	if p.sort != (sorting{}) {
		rows = slices.Clone(rows)
		slices.SortStableFunc(rows, func(a, b int) int { return p.sort.compare(&p.table.Rows[a], &p.table.Rows[b]) })
	}
	for _, i := range rows {
		if p.kept != nil && !p.kept[i] {
			continue
		}
		p.rows = append(p.rows, i)
		if p.open(i) {
			p.layAll(p.table.Rows[i].Children)
		}
	}
}

// open reports whether the layers inside a row are listed: what the reader
// said, else what tells the most, and all while a filter is set.
func (p *Page) open(i int) bool {
	r := &p.table.Rows[i]
	if len(r.Children) == 0 {
		return false
	}
	if said, ok := p.opened[r.Name]; ok {
		return said
	}
	return p.all || p.kept != nil || p.telling[i]
}

// tell chooses what is open at first: the outermost layers, then again and again
// the one that keeps the most of those that are still closed, for as long as all
// rows fit on the screen.
func (p *Page) tell(rows int) {
	if p.told == rows && len(p.telling) == len(p.table.Rows) {
		return
	}
	p.told, p.telling = rows, make([]bool, len(p.table.Rows))
	shown := make([]bool, len(p.table.Rows))
	for i := range p.table.Rows {
		if p.table.Rows[i].Parent < 0 {
			shown[i], rows = true, rows-1
		}
	}
	for {
		best := -1
		for i := range p.table.Rows {
			r := &p.table.Rows[i]
			if shown[i] && !p.telling[i] && len(r.Children) > 0 && (best < 0 || r.Sum.SavedBytes > p.table.Rows[best].Sum.SavedBytes) {
				best = i
			}
		}
		if best < 0 || len(p.table.Rows[best].Children) > rows {
			return
		}
		p.telling[best] = true
		for _, child := range p.table.Rows[best].Children {
			shown[child], rows = true, rows-1
		}
	}
}

// matching returns which rows the filter leaves: those that match and those
// around them. It is nil without a filter.
func (p *Page) matching() []bool {
	if p.filter == "" {
		return nil
	}
	kept := make([]bool, len(p.table.Rows))
	for i := range p.table.Rows {
		if !matches(&p.table.Rows[i], p.filter) {
			continue
		}
		for k := i; k >= 0 && !kept[k]; k = p.table.Rows[k].Parent {
			kept[k] = true
		}
	}
	return kept
}

func matches(r *analysis.LayerRow, query string) bool {
	return find.Text(r.Name+" "+r.Class+" "+r.DType+" "+markText(r), query)
}

// current returns the selected row of the table, -1 when there is none.
func (p *Page) current() int {
	if p.list.Cursor < len(p.rows) {
		return p.rows[p.list.Cursor]
	}
	return -1
}

// fold opens or closes a row.
func (p *Page) fold(i int, open bool) {
	if i < 0 || len(p.table.Rows[i].Children) == 0 {
		return
	}
	p.opened[p.table.Rows[i].Name] = open
	p.lay()
	p.reveal(i)
}

// reveal selects a row, opening what is around it.
func (p *Page) reveal(i int) {
	for k := p.table.Rows[i].Parent; k >= 0; k = p.table.Rows[k].Parent {
		p.opened[p.table.Rows[k].Name] = true
	}
	p.lay()
	p.list.Resize(len(p.rows), p.list.Height)
	if at := slices.Index(p.rows, i); at >= 0 {
		p.list.Center(at)
		p.selected = p.table.Rows[i].Name
	}
}

// next selects the next row of the whole table that matches the search.
func (p *Page) next(direction int) bool {
	n := len(p.table.Rows)
	from := max(p.current(), 0)
	for step := 1; step <= n; step++ {
		i := ((from+direction*step)%n + n) % n
		if matches(&p.table.Rows[i], p.search) && (p.kept == nil || p.kept[i]) {
			p.reveal(i)
			return true
		}
	}
	return false
}
