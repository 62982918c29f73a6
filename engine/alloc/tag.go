package alloc

import "github.com/memtop/memtop/snapshots/trace"

// Label describes the purpose of a block in words. All but the category may be
// empty.
type Label struct {
	Category trace.Category
	Layer    string // the module, as "blocks.3.attn.qkv"
	Role     string // in the layer, as "weight", "exp_avg", "softmax probs"
	Shape    string // as "[4, 64, 768]"
	DType    string // as "bf16"
}

// Tag is a [Label] interned in [Names]: a small value that the caller makes once
// and uses for many blocks. The zero Tag is empty, and counts as [Other].
type Tag struct {
	event    trace.NoteID // the note of the block's events
	block    trace.NoteID // its note in a state
	category trace.Category
}

// Category returns the tag's category.
func (t Tag) Category() trace.Category { return t.category }

// Tag interns a label.
func (a *Allocator) Tag(l Label) Tag { return a.names.Tag(l) }

// TagOf returns the block's current tag. Safe for concurrent use.
func (a *Allocator) TagOf(b Allocation) Tag {
	if b.b == nil {
		return Tag{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return b.live("TagOf").tag
}

// Retag changes the purpose of a block from now on: a scratch result becomes an
// activation when it is saved. Its bytes move from one category to the other, so
// sums do not change. It records one event. Safe for concurrent use.
func (a *Allocator) Retag(b Allocation, t Tag) {
	if b.b == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	bl := b.live("Retag of")
	if bl.tag == t {
		return
	}
	a.tick()
	a.stats.Category[bl.tag.category].sub(bl.requested)
	a.stats.Category[t.category].add(bl.requested)
	a.stats.notePeak()
	bl.tag = t
	a.record(trace.Retag, bl.addr, bl.requested, bl.set.stream, bl.stack, t)
}

// Mark records an event that is not about memory, in order with the others: the
// begin or end of a step, or a changed setting. number is the step's; text is
// free. Safe for concurrent use.
func (a *Allocator) Mark(k trace.Kind, number int64, text string) {
	note := a.names.mark(text)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tick()
	a.record(k, 0, number, a.streamOf(0), 0, Tag{event: note})
}
