package stacks

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"memtop/snapshots/analysis"
	"memtop/tui/find"
	"memtop/tui/page"
)

// next goes to the next frame that matches the search, in the order in which
// the whole tree would be listed, and opens the way to it.
func (p *Page) next(direction int) tea.Cmd {
	if p.search == "" {
		return page.Say("nothing searched for yet: / searches")
	}
	if p.tree == nil {
		return nil
	}
	hits := p.matches()
	if len(hits) == 0 {
		return page.Say("no frame matches " + p.search)
	}
	current := p.currentNode()
	at := slices.IndexFunc(hits, func(path []*analysis.Node) bool { return path[len(path)-1] == current })
	switch {
	case at >= 0:
		at = (at + direction + len(hits)) % len(hits)
	case direction > 0:
		at = 0
	default:
		at = len(hits) - 1
	}
	p.reveal(hits[at])
	return nil
}

func (p *Page) currentNode() *analysis.Node {
	if p.flame {
		return p.graph.selected
	}
	if r := p.selected(); r != nil {
		return r.node
	}
	return nil
}

// matches returns the paths, from the root down, to the outermost frame that
// matches in each branch.
func (p *Page) matches() [][]*analysis.Node {
	var hits [][]*analysis.Node
	var walk func(n *analysis.Node, path []*analysis.Node)
	walk = func(n *analysis.Node, path []*analysis.Node) {
		for _, child := range p.sorted(n.Children) {
			here := append(path[:len(path):len(path)], child)
			if find.Text(child.Label, p.search) {
				hits = append(hits, here)
				continue
			}
			walk(child, here)
		}
	}
	walk(p.tree.Root, nil)
	return hits
}

// reveal selects the last frame of a path.
func (p *Page) reveal(path []*analysis.Node) {
	last := path[len(path)-1]
	p.graph.reveal(last)
	k := uint64(0)
	for _, n := range path[:len(path)-1] {
		k = pathKey(k, n.Label)
		p.opened[k] = true
	}
	p.flatten()
	for i := range p.rows {
		if p.rows[i].node == last {
			p.list.Center(i)
		}
	}
}
