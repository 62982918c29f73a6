package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// StackOptions say how to join stacks into a tree.
type StackOptions struct {
	InnermostFirst bool                     // the roots are the allocating frames, not the entry points of programs
	HideRuntime    bool                     // leave out frames of the interpreter, the dispatcher and the allocator
	Match          func(label string) bool  // keep only stacks with a frame that matches; nil keeps all
	Only           func(trace.StackID) bool // keep only these stacks; nil keeps all
}

// Tree is memory by call stack.
type Tree struct {
	Root  *Node
	Bytes int64
	Count int // allocations
}

// Node is a frame together with everything that was called from it.
type Node struct {
	Frame       trace.FrameID // 0 for the root and for memory without a stack
	Label       string
	Bytes, Self int64 // of the whole subtree; of stacks that end here
	Count       int   // allocations in the subtree
	Children    []*Node
	Stacks      []trace.StackID // that end here
}

// Stacks joins the stacks of the live memory right after an event. Children are
// sorted, the largest first.
func (x *Index) Stacks(at int, o StackOptions) *Tree {
	b := treeBuilder{index: x, options: o, root: &Node{Label: "all"}}
	b.label, b.children = once(x.FrameLabel), make(map[below]*Node)
	for _, h := range x.holdingsAt(at) {
		if o.Only == nil || o.Only(h.stack) {
			b.add(h)
		}
	}
	b.root.sort()
	return &Tree{Root: b.root, Bytes: b.root.Bytes, Count: b.root.Count}
}

type treeBuilder struct {
	index    *Index
	options  StackOptions
	root     *Node
	label    func(trace.FrameID) string
	children map[below]*Node
	path     []trace.FrameID
}

// below is a frame's place in the tree.
type below struct {
	above *Node
	frame trace.FrameID
}

// add adds one stack. Memory that the stack freed, but that was allocated at an
// unknown place, goes to a branch of its own.
func (b *treeBuilder) add(h holding) {
	if bytes, count := h.known(); count > 0 {
		if h.stack <= trace.EmptyStack {
			b.addNamed(b.index.Code().NoStack(), h.stack, bytes, count)
		} else {
			b.addStack(h.stack, bytes, count)
		}
	}
	if h.unknownMany > 0 {
		b.addNamed(HeldBefore, 0, h.unknown, h.unknownMany)
	}
}

func (b *treeBuilder) addNamed(label string, stack trace.StackID, bytes int64, count int) {
	if b.options.Match != nil && !b.options.Match(label) {
		return
	}
	at := slices.IndexFunc(b.root.Children, func(n *Node) bool { return n.Frame == 0 && n.Label == label })
	if at < 0 {
		at = len(b.root.Children)
		b.root.Children = append(b.root.Children, &Node{Label: label})
	}
	node := b.root.Children[at]
	b.root.grow(bytes, count)
	node.grow(bytes, count)
	node.end(stack, bytes)
}

func (b *treeBuilder) addStack(stack trace.StackID, bytes int64, count int) {
	path := b.pathOf(stack)
	if b.options.Match != nil && !slices.ContainsFunc(path, func(id trace.FrameID) bool { return b.options.Match(b.label(id)) }) {
		return
	}
	node := b.root
	node.grow(bytes, count)
	for _, frame := range path {
		node = b.child(node, frame)
		node.grow(bytes, count)
	}
	node.end(stack, bytes)
}

// pathOf returns the stack's frames from the root down. A stack of nothing but
// hidden frames keeps its innermost one.
func (b *treeBuilder) pathOf(stack trace.StackID) []trace.FrameID {
	frames := b.index.tables.Stack(stack)
	b.path = append(b.path[:0], frames...)
	if b.options.HideRuntime {
		b.path = slices.DeleteFunc(b.path, b.index.Code().Hidden)
	}
	if len(b.path) == 0 {
		b.path = append(b.path, frames[0])
	}
	if !b.options.InnermostFirst {
		slices.Reverse(b.path)
	}
	return b.path
}

func (b *treeBuilder) child(node *Node, frame trace.FrameID) *Node {
	at := below{node, frame}
	child := b.children[at]
	if child == nil {
		child = &Node{Frame: frame, Label: b.label(frame)}
		b.children[at] = child
		node.Children = append(node.Children, child)
	}
	return child
}

func (n *Node) grow(bytes int64, count int) {
	n.Bytes += bytes
	n.Count += count
}

func (n *Node) end(stack trace.StackID, bytes int64) {
	n.Self += bytes
	if len(n.Stacks) == 0 || n.Stacks[len(n.Stacks)-1] != stack {
		n.Stacks = append(n.Stacks, stack)
	}
}

func (n *Node) sort() {
	slices.SortStableFunc(n.Children, func(a, b *Node) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, child := range n.Children {
		child.sort()
	}
}
