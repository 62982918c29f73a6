package stacks

import (
	"hash/maphash"

	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/find"
	"github.com/memtop/memtop/tui/page"
)

// row is one visible frame of the tree.
type row struct {
	node   *analysis.Node
	parent *row // of the caller, nil for the roots
	depth  int
	key    uint64 // identifies the path to the frame, in this tree and in others
	open   bool
	folded int // how many frames this row replaces that only pass memory on
}

// seed makes path keys comparable within one run of the program.
var seed = maphash.MakeSeed()

// flatten lists the frames that are visible: those whose callers are expanded.
func (p *Page) flatten() {
	var rows []*row
	if p.tree != nil {
		rows = p.withChildren(nil, p.tree.Root, nil, 0, 0)
	}
	p.table.Show(rows, p.table.Order)
}

// withChildren adds n's children to rows: parent is the row of n, nil for the
// root, path its key. The indent grows only where stacks branch: a single stack
// of sixty frames stays readable.
func (p *Page) withChildren(rows []*row, n *analysis.Node, parent *row, depth int, path uint64) []*row {
	for _, r := range p.sorted(n.Children) {
		child, k := r.node, pathKey(path, r.node.Label)
		r.parent, r.depth, r.key = parent, depth, k
		rows = append(rows, r)
		if end, last, frames := p.chain(child, k); frames >= foldedFrames && !p.opened[k^foldKey] {
			r.key, r.folded = k^foldKey, frames
			rows = p.withChildren(rows, end, r, depth, last)
			continue
		}
		if r.open = p.expanded(child, k); r.open {
			inner := depth
			if len(child.Children) > 1 {
				inner++
			}
			rows = p.withChildren(rows, child, r, inner, k)
		}
	}
	return rows
}

// A frame that is not the program's own, has one callee and passes all its memory
// on to it tells little. foldedFrames or more such frames in sequence are folded
// into one row.
const foldedFrames = 3

// foldKey makes the key of a folded row differ from that of its first frame.
const foldKey = 0x5bd1e995

// chain returns the last frame that can be folded from n on, its key, and the
// number of frames.
func (p *Page) chain(n *analysis.Node, k uint64) (*analysis.Node, uint64, int) {
	var last *analysis.Node
	lastKey, count := k, 0
	for p.passesOn(n) && p.expanded(n, k) {
		last, lastKey = n, k
		count++
		n = n.Children[0]
		k = pathKey(k, n.Label)
	}
	return last, lastKey, count
}

func (p *Page) passesOn(n *analysis.Node) bool {
	if n.Frame == 0 || len(n.Children) != 1 || n.Children[0].Bytes != n.Bytes {
		return false
	}
	return !p.Scene.Index.Code().Own(n.Frame) && (p.table.Search == "" || !find.Text(n.Label, p.table.Search))
}

func pathKey(parent uint64, label string) uint64 {
	return maphash.String(seed, label) ^ (parent*0x9e3779b97f4a7c15 + 1)
}

// expanded reports whether a frame's callees are shown: as the user chose, or
// else if they matter.
func (p *Page) expanded(n *analysis.Node, k uint64) bool {
	if len(n.Children) == 0 {
		return false
	}
	if open, ok := p.opened[k]; ok {
		return open
	}
	if p.openAll != 0 {
		return p.openAll > 0
	}
	return n.Bytes*20 >= p.tree.Bytes
}

// sorted returns rows of frames in the order of the table.
func (p *Page) sorted(nodes []*analysis.Node) []*row {
	rows := make([]*row, len(nodes))
	for i, n := range nodes {
		rows[i] = &row{node: n}
	}
	page.Sort(rows, p.table.Columns, p.table.Order)
	return rows
}

// expand opens or closes the selected row.
func (p *Page) expand() tea.Cmd {
	switch {
	case p.versus.on:
		return nil
	case p.flat.on:
		return p.openLine()
	}
	return p.toggle()
}

// sideways closes a frame of the tree or goes to its caller, or opens it or goes to the
// first of its callees.
func (p *Page) sideways(direction int) {
	r, ok := p.table.Current()
	switch {
	case p.versus.on || p.flat.on || !ok:
	case direction < 0 && r.open:
		p.toggle()
	case direction < 0 && r.parent != nil:
		p.table.Select(r.parent.key)
	case direction > 0 && r.open:
		p.table.Next()
	case direction > 0:
		p.toggle()
	}
}

// toggle shows or hides the callees of the selected frame.
func (p *Page) toggle() tea.Cmd {
	if r, ok := p.table.Current(); ok && len(r.node.Children) > 0 {
		p.opened[r.key] = r.folded > 0 || !r.open
		p.flatten()
	}
	return nil
}

// toggleAll opens or closes the whole tree.
func (p *Page) toggleAll() {
	if p.versus.on || p.flat.on {
		return
	}
	clear(p.opened)
	if p.openAll > 0 {
		p.openAll = -1
	} else {
		p.openAll = 1
	}
	p.flatten()
}
