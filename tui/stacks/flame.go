package stacks

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/tui/page"
)

// box is a frame with its place in the graph.
type box struct {
	node  *analysis.Node
	x, w  int
	depth int
}

// graph is the flame graph: the zoomed frame, the selected frame, and the boxes
// for a width.
type graph struct {
	root     *analysis.Node
	zoomed   *analysis.Node
	selected *analysis.Node
	trunks   []trunk // runs of frames that are left out
	parents  map[*analysis.Node]*analysis.Node
	boxes    []box
	width    int
	height   int
	deepest  int
	offset   int // depth of the first visible row
}

// show takes a new tree. It keeps the zoom and the selection if the tree has
// those frames.
func (g *graph) show(root *analysis.Node) {
	zoom, selection := labels(g, g.zoomed), labels(g, g.selected)
	*g = graph{root: root, width: -1, height: g.height, offset: g.offset, parents: make(map[*analysis.Node]*analysis.Node)}
	g.adopt(root)
	g.zoomed, g.selected = descend(root, zoom), descend(root, selection)
}

func (g *graph) adopt(n *analysis.Node) {
	for _, child := range n.Children {
		g.parents[child] = n
		g.adopt(child)
	}
}

// labels returns the path to a node from the root down.
func labels(g *graph, n *analysis.Node) []string {
	var path []string
	for n != nil && n != g.root {
		path = append([]string{n.Label}, path...)
		n = g.parents[n]
	}
	return path
}

// descend follows a path as far as it goes.
func descend(n *analysis.Node, path []string) *analysis.Node {
	for _, label := range path {
		i := slices.IndexFunc(n.Children, func(child *analysis.Node) bool { return child.Label == label })
		if i < 0 {
			return n
		}
		n = n.Children[i]
	}
	return n
}

// layout places the boxes. It leaves out frames narrower than a cell; their
// callers show the gap.
func (g *graph) layout(w, h int) {
	g.height = max(h, 1)
	if g.width != w && g.root != nil {
		g.width, g.deepest = w, 0
		g.fold()
		g.boxes = g.place(g.boxes[:0], g.zoomed, box{w: w}, func(n *analysis.Node) int64 { return n.Bytes })
		for _, b := range g.boxes {
			g.deepest = max(g.deepest, b.depth)
		}
	}
	g.keepInView()
}

// trunk is a run of frames with one callee each: boxes of the same width, at
// which memory does not split.
type trunk struct {
	first, last *analysis.Node
	folded      int // frames before the last, which are left out
}

// fold finds the trunks right under the zoomed frame. For a trunk of three or
// more frames only the last frame is shown, which has several callees.
func (g *graph) fold() {
	g.trunks = g.trunks[:0]
	for _, child := range g.zoomed.Children {
		t := trunk{child, child, 0}
		for len(t.last.Children) == 1 && t.last.Children[0].Bytes == t.last.Bytes {
			t.last = t.last.Children[0]
			t.folded++
		}
		if t.folded >= 2 && len(t.last.Children) > 1 {
			g.trunks = append(g.trunks, t)
		}
	}
	if g.depthOf(g.selected) < 0 {
		for n := g.selected; n != nil; n = g.parents[n] {
			if t := g.trunkFrom(n); t != nil {
				g.selected = t.last
			}
		}
	}
}

// trunkFrom and trunkTo return the trunk that begins and ends with a frame, nil when
// none does.
func (g *graph) trunkFrom(n *analysis.Node) *trunk {
	return g.findTrunk(func(t *trunk) bool { return t.first == n })
}

func (g *graph) trunkTo(n *analysis.Node) *trunk {
	return g.findTrunk(func(t *trunk) bool { return t.last == n })
}

func (g *graph) findTrunk(is func(*trunk) bool) *trunk {
	for i := range g.trunks {
		if is(&g.trunks[i]) {
			return &g.trunks[i]
		}
	}
	return nil
}

// below returns the frames directly under a box.
func (g *graph) below(n *analysis.Node) []*analysis.Node {
	if n != g.zoomed || len(g.trunks) == 0 {
		return n.Children
	}
	shown := slices.Clone(n.Children)
	for i, child := range shown {
		if t := g.trunkFrom(child); t != nil {
			shown[i] = t.last
		}
	}
	return shown
}

// above returns the frame directly above a box.
func (g *graph) above(n *analysis.Node) *analysis.Node {
	if g.trunkTo(n) != nil {
		return g.zoomed
	}
	return g.parents[n]
}

// place adds boxes for a node and for those under it, to the scale of their bytes.
func (g *graph) place(boxes []box, n *analysis.Node, at box, bytes func(*analysis.Node) int64) []box {
	if at.w <= 0 {
		return boxes
	}
	at.node = n
	boxes = append(boxes, at)
	whole, before := bytes(n), int64(0)
	for _, child := range g.below(n) {
		from := cells(at.w, before, whole)
		before += bytes(child)
		boxes = g.place(boxes, child, box{x: at.x + from, w: cells(at.w, before, whole) - from, depth: at.depth + 1}, bytes)
	}
	return boxes
}

// cells returns how many of w cells a part of a whole takes.
func cells(w int, part, whole int64) int {
	if whole == 0 {
		return 0
	}
	return int(float64(w)*min(max(float64(part)/float64(whole), 0), 1) + 0.5)
}

// depthOf returns how deep a node lies under the zoomed one, -1 outside and where it is
// left out.
func (g *graph) depthOf(n *analysis.Node) int {
	for depth := 0; n != nil; depth++ {
		switch {
		case n == g.zoomed:
			return depth
		case g.trunkTo(n) == nil && g.trunkFrom(n) != nil:
			return -1
		}
		n = g.above(n)
	}
	return -1
}

func (g *graph) keepInView() {
	depth := max(g.depthOf(g.selected), 0)
	if depth < g.offset {
		g.offset = depth
	}
	if depth >= g.offset+g.height {
		g.offset = depth - g.height + 1
	}
	g.offset = min(max(g.offset, 0), max(g.deepest+1-g.height, 0))
}

// zoom makes a node fill the width.
func (g *graph) zoom(n *analysis.Node) {
	g.zoomed, g.selected, g.offset, g.width = n, n, 0, -1
	g.trunks = g.trunks[:0]
}

// out zooms out one step and reports whether there was one.
func (g *graph) out() bool {
	if g.root == nil || g.zoomed == g.root {
		return false
	}
	was := g.zoomed
	n := g.parents[was]
	for n != g.root && len(n.Children) == 1 {
		n = g.parents[n] // skips frames that look the same as the one below
	}
	g.zoom(n)
	g.selected = was
	return true
}

// reveal selects a node, zooming out until it can be seen.
func (g *graph) reveal(n *analysis.Node) {
	if g.depthOf(n) < 0 {
		g.zoom(g.root)
	}
	g.selected, g.width = n, -1
}

// key handles a key and reports whether it was one of the graph's.
func (g *graph) key(msg tea.KeyPressMsg, k *page.Keys) bool {
	if g.root == nil {
		return false
	}
	switch {
	case key.Matches(msg, k.Pane.Open, k.Pane.ZoomIn, k.Pane.Expand):
		g.zoom(g.selected)
	case key.Matches(msg, k.Pane.ZoomOut):
		g.out()
	case key.Matches(msg, k.Motion.Up):
		if g.selected != g.zoomed {
			g.selected = g.above(g.selected)
		}
	case key.Matches(msg, k.Motion.Down):
		if below := g.below(g.selected); len(below) > 0 {
			g.selected = below[0]
		}
	case key.Matches(msg, k.Motion.Left):
		g.sideways(-1)
	case key.Matches(msg, k.Motion.Right):
		g.sideways(1)
	case key.Matches(msg, k.Motion.Top):
		g.selected = g.zoomed
	case key.Matches(msg, k.Motion.Bottom):
		for below := g.below(g.selected); len(below) > 0; below = g.below(g.selected) {
			g.selected = below[0]
		}
	case key.Matches(msg, k.Motion.PageUp):
		g.offset -= g.height
		g.selectVisible()
	case key.Matches(msg, k.Motion.PageDown):
		g.offset += g.height
		g.selectVisible()
	default:
		return false
	}
	return true
}

// sideways selects the visible box of the same depth beside the selected one.
func (g *graph) sideways(direction int) {
	depth := g.depthOf(g.selected)
	var row []*analysis.Node
	at := -1
	for _, b := range g.boxes {
		if b.depth == depth {
			if b.node == g.selected {
				at = len(row)
			}
			row = append(row, b.node)
		}
	}
	if next := at + direction; at >= 0 && next >= 0 && next < len(row) {
		g.selected = row[next]
	}
}

// selectVisible moves the selection along its own column into view.
func (g *graph) selectVisible() {
	g.offset = min(max(g.offset, 0), max(g.deepest+1-g.height, 0))
	for g.depthOf(g.selected) >= g.offset+g.height {
		g.selected = g.above(g.selected)
	}
	for below := g.below(g.selected); g.depthOf(g.selected) < g.offset && len(below) > 0; below = g.below(g.selected) {
		g.selected = below[0]
	}
}

func (g *graph) wheel(msg tea.MouseWheelMsg) {
	if g.root == nil {
		return
	}
	if msg.Button == tea.MouseWheelUp {
		g.offset--
	} else {
		g.offset++
	}
	g.selectVisible()
}

// click selects the box at a cell; a click on the selected one zooms into it.
func (g *graph) click(boxes []box, x, y int) {
	for _, b := range boxes {
		if b.depth == y+g.offset && x >= b.x && x < b.x+b.w {
			if b.node == g.selected {
				g.zoom(b.node)
			}
			g.selected = b.node
			return
		}
	}
}

// path returns the selected frame and its callers, without the root.
func (g *graph) path() []*analysis.Node {
	var nodes []*analysis.Node
	for n := g.selected; n != nil && n != g.root; n = g.parents[n] {
		nodes = append(nodes, n)
	}
	return nodes
}
