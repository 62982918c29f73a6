package overview

import "github.com/memtop/memtop/snapshots/trace"

// What Enter opens
//
// The findings and then the categories with memory form one list. The keys n and
// N go through it.

// categories returns the categories with memory at the shown moment, in their
// order.
func (p *Page) categories() []trace.Category {
	f, _ := p.asked.Answer()
	var held []trace.Category
	for _, c := range trace.Categories {
		if f.categories[c] > 0 {
			held = append(held, c)
		}
	}
	return held
}

// place is the index of the choice in the list.
func (p *Page) place() int {
	if p.category >= 0 {
		return len(p.found) + p.category
	}
	return p.finding
}

func (p *Page) choose(i int) {
	n := len(p.found) + len(p.categories())
	if n == 0 {
		return
	}
	i = (i + n) % n
	if p.category = i - len(p.found); p.category < 0 {
		p.finding, p.category = i, -1
	}
	p.Detail.Offset = 0
}

// chosen reports whether Enter shows which rules gave a category.
func (p *Page) chosen(c trace.Category) bool {
	held := p.categories()
	return p.category >= 0 && p.category < len(held) && held[p.category] == c
}

// tells reports whether rules are shown for some category.
func (p *Page) tells() bool { return p.rules || p.opened != [trace.CategoryCount]bool{} }
