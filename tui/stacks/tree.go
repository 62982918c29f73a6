package stacks

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"memtop/snapshots/analysis"
	"memtop/tui/find"
)

// row is one visible frame of the tree.
type row struct {
	node   *analysis.Node
	parent int // row of the caller, -1 for the roots
	depth  int
	key    uint64 // names the path to the frame, in this tree and in others
	open   bool
	folded int // this row stands for so many frames that only pass memory on
}

// order is how children are sorted.
type order struct {
	column  column
	inverse bool
}

type column uint8

const (
	byBytes column = iota
	bySelf
	byCount
	byName
	orderColumns
)

// seed makes path keys comparable within one run of the program.
var seed = maphash.MakeSeed()

// flatten lists the frames that are visible: those whose callers are expanded.
func (p *Page) flatten() {
	p.rows = p.rows[:0]
	if p.tree != nil {
		p.addChildren(p.tree.Root, -1, 0, 0)
	}
	p.list.Resize(len(p.rows), p.list.Height)
}

// addChildren adds n's children. Only where stacks part does the indent grow:
// a stack of sixty frames that nobody shares stays readable.
func (p *Page) addChildren(n *analysis.Node, parent, depth int, path uint64) {
	for _, child := range p.sorted(n.Children) {
		k := pathKey(path, child.Label)
		if end, last, frames := p.chain(child, k); frames >= foldedFrames && !p.opened[k^foldKey] {
			p.rows = append(p.rows, row{node: child, parent: parent, depth: depth, key: k ^ foldKey, folded: frames})
			p.addChildren(end, len(p.rows)-1, depth, last)
			continue
		}
		at := len(p.rows)
		p.rows = append(p.rows, row{node: child, parent: parent, depth: depth, key: k, open: p.expanded(child, k)})
		if p.rows[at].open {
			inner := depth
			if len(child.Children) > 1 {
				inner++
			}
			p.addChildren(child, at, inner, k)
		}
	}
}

// Frames outside of Python that have one callee and pass all of their memory on
// to it say little; foldedFrames and more in a row are folded into one row.
const foldedFrames = 3

// foldKey tells the key of a folded row from that of its first frame.
const foldKey = 0x5bd1e995

// chain returns the last of the frames that can be folded from n on, its key,
// and how many they are.
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
	t := p.scene.Tables()
	return !strings.HasSuffix(t.String(t.Frames[n.Frame].File), ".py") && (p.search == "" || !find.Text(n.Label, p.search))
}

func pathKey(parent uint64, label string) uint64 {
	return maphash.String(seed, label) ^ (parent*0x9e3779b97f4a7c15 + 1)
}

// expanded reports whether a frame's callees show: as the reader said, or else
// when they matter.
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

func (p *Page) sorted(nodes []*analysis.Node) []*analysis.Node {
	if p.order == (order{}) || len(nodes) < 2 {
		return nodes
	}
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(a, b *analysis.Node) int {
		if p.order.inverse {
			a, b = b, a
		}
		switch p.order.column {
		case bySelf:
			return cmp.Compare(b.Self, a.Self)
		case byCount:
			return cmp.Compare(b.Count, a.Count)
		case byName:
			return cmp.Compare(a.Label, b.Label)
		default:
			return cmp.Compare(b.Bytes, a.Bytes)
		}
	})
	return nodes
}

// treeKey answers the keys of the tree.
func (p *Page) treeKey(msg tea.KeyPressMsg) {
	k := &p.keys
	switch {
	case key.Matches(msg, k.pane.Open, k.pane.Expand):
		p.toggle()
	case key.Matches(msg, k.mine.ExpandAll):
		p.toggleAll()
	case key.Matches(msg, k.motion.Left):
		p.collapse()
	case key.Matches(msg, k.motion.Right):
		p.expand()
	case key.Matches(msg, k.pane.SortLeft):
		p.sort((p.order.column + orderColumns - 1) % orderColumns)
	case key.Matches(msg, k.pane.SortRight):
		p.sort((p.order.column + 1) % orderColumns)
	case key.Matches(msg, k.pane.Invert):
		p.order.inverse = !p.order.inverse
		p.flatten()
	default:
		p.list.Key(msg, k.motion)
	}
}

func (p *Page) sort(c column) {
	p.order.column = c
	p.flatten()
}

// selected returns the row under the cursor, nil when there are no rows.
func (p *Page) selected() *row {
	if p.list.Cursor < len(p.rows) {
		return &p.rows[p.list.Cursor]
	}
	return nil
}

func (p *Page) toggle() {
	if r := p.selected(); r != nil && len(r.node.Children) > 0 {
		p.opened[r.key] = r.folded > 0 || !r.open
		p.flatten()
	}
}

func (p *Page) toggleAll() {
	clear(p.opened)
	if p.openAll > 0 {
		p.openAll = -1
	} else {
		p.openAll = 1
	}
	p.flatten()
}

// collapse hides the callees, or goes to the caller when none show.
func (p *Page) collapse() {
	r := p.selected()
	switch {
	case r == nil:
	case r.open:
		p.toggle()
	case r.parent >= 0:
		p.list.To(r.parent)
	}
}

// expand shows the callees, or goes to the first when they show.
func (p *Page) expand() {
	r := p.selected()
	switch {
	case r == nil:
	case r.open:
		p.list.To(p.list.Cursor + 1)
	default:
		p.toggle()
	}
}
