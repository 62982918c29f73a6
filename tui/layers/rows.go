package layers

import "github.com/memtop/memtop/tui/page"

// lay makes the visible rows again, without folded and filtered ones. Layers are
// sorted inside the layer around them.
func (p *Page) lay() {
	if p.data == nil {
		return
	}
	p.kept = p.matching()
	var top []int
	for i := range p.data.Rows {
		if p.data.Rows[i].Parent < 0 {
			top = append(top, i)
		}
	}
	p.table.Show(p.visible(nil, top), p.table.Order)
}

// visible adds the rows of layers and of the open ones among them to rows.
func (p *Page) visible(rows []row, layers []int) []row {
	sorted := make([]row, len(layers))
	for k, i := range layers {
		sorted[k] = row{&p.data.Rows[i], i}
	}
	page.Sort(sorted, p.table.Columns, p.table.Order)
	for _, r := range sorted {
		if p.kept != nil && !p.kept[r.at] {
			continue
		}
		rows = append(rows, r)
		if p.open(r.at) {
			rows = p.visible(rows, r.Children)
		}
	}
	return rows
}

// open reports whether the layers inside a row are listed: as the user chose,
// else as autoOpen says, and always while a filter is set.
func (p *Page) open(i int) bool {
	r := &p.data.Rows[i]
	if len(r.Children) == 0 {
		return false
	}
	if open, ok := p.opened[r.Name]; ok {
		return open
	}
	return p.all || p.kept != nil || p.autoOpen[i]
}

// chooseOpen chooses what is open at first: the outermost layers, then again and
// again the one that keeps the most of those that are still closed, for as long
// as all rows fit on the screen. A model that is alone opens in any case.
func (p *Page) chooseOpen(rows int) {
	if p.autoRows == rows && len(p.autoOpen) == len(p.data.Rows) {
		return
	}
	p.autoRows, p.autoOpen = rows, make([]bool, len(p.data.Rows))
	shown := make([]bool, len(p.data.Rows))
	for i := range p.data.Rows {
		if p.data.Rows[i].Parent < 0 {
			shown[i], rows = true, rows-1
		}
	}
	for {
		best := -1
		for i := range p.data.Rows {
			r := &p.data.Rows[i]
			if shown[i] && !p.autoOpen[i] && len(r.Children) > 0 && (best < 0 || r.Sum.SavedBytes > p.data.Rows[best].Sum.SavedBytes) {
				best = i
			}
		}
		only := best == 0 && p.data.Rows[0].Sum.Layers == len(p.data.Rows) // closed, it would be the only row
		if best < 0 || len(p.data.Rows[best].Children) > rows && !only {
			return
		}
		p.autoOpen[best] = true
		for _, child := range p.data.Rows[best].Children {
			shown[child], rows = true, rows-1
		}
	}
}

// matching returns the rows that pass the filter: those that match and those
// around them. It is nil without a filter.
func (p *Page) matching() []bool {
	if p.table.Filter == "" {
		return nil
	}
	kept := make([]bool, len(p.data.Rows))
	for i := range p.data.Rows {
		if !p.matches(i, p.table.Filter) {
			continue
		}
		for k := i; k >= 0 && !kept[k]; k = p.data.Rows[k].Parent {
			kept[k] = true
		}
	}
	return kept
}

func (p *Page) matches(i int, query string) bool {
	return page.Matches(p.table.Columns, row{&p.data.Rows[i], i}, query)
}

// current returns the selected row of the answer, -1 when there is none.
func (p *Page) current() int {
	if r, ok := p.table.Current(); ok {
		return r.at
	}
	return -1
}

// fold opens or closes a row.
func (p *Page) fold(i int, open bool) {
	if i < 0 || len(p.data.Rows[i].Children) == 0 {
		return
	}
	p.opened[p.data.Rows[i].Name] = open
	p.reveal(i)
}

// reveal selects a row and opens what is around it.
func (p *Page) reveal(i int) {
	for k := p.data.Rows[i].Parent; k >= 0; k = p.data.Rows[k].Parent {
		p.opened[p.data.Rows[k].Name] = true
	}
	p.lay()
	p.table.Select(p.data.Rows[i].Name)
}

// seek selects the next row of the whole tree that matches the search.
func (p *Page) seek(direction int) bool {
	i, ok := page.Around(len(p.data.Rows), max(p.current(), 0), direction, func(i int) bool {
		return p.matches(i, p.table.Search) && (p.kept == nil || p.kept[i])
	})
	if ok {
		p.reveal(i)
	}
	return ok
}
