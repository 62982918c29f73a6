package stacks

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/find"
)

// seek goes to the next frame that matches the search, in the order of the fully
// opened tree, and opens the path to it.
func (p *Page) seek(direction int) bool {
	if p.tree == nil {
		return false
	}
	hits := p.matches()
	if len(hits) == 0 {
		return false
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
	return true
}

func (p *Page) currentNode() *analysis.Node {
	if p.flame {
		return p.graph.selected
	}
	if r, ok := p.table.Current(); ok {
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
		for _, r := range p.sorted(n.Children) {
			child := r.node
			here := append(path[:len(path):len(path)], child)
			if find.Text(child.Label, p.table.Search) {
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
	p.table.Select(pathKey(k, last.Label))
}
