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
// and uses for many blocks. The zero Tag says nothing, and counts as [Other].
type Tag struct {
	event    trace.NoteID // the note of the block's events
	block    trace.NoteID // its note in a state
	category trace.Category
}

// Category returns the tag's category.
func (t Tag) Category() trace.Category { return t.category }

// Tag interns a label.
func (a *Allocator) Tag(l Label) Tag { return a.names.Tag(l) }

// TagOf returns the block's present tag. Safe for concurrent use.
func (a *Allocator) TagOf(b Allocation) Tag {
	if b.b == nil {
		return Tag{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return b.live("TagOf").tag
}

// Retag says that the block is for something else from now on: a result that
// was scratch becomes an activation when it is saved. Its bytes move from one
// category to the other, so sums stay what they were, and it records one
// event. Safe for concurrent use.
func (a *Allocator) Retag(b Allocation, t Tag) {
	if b.b == nil {
		return
	}
	site := a.callers(StacksAll)
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
	if site == 0 {
		site = bl.stack
	}
	a.record(trace.Retag, bl.addr, bl.requested, bl.set.stream, site, t)
}

// Mark puts an event that is not about memory among the others, so that it can
// be seen which came before and after: the begin or end of a step, or a changed
// setting. number is a step's; text is free. Safe for concurrent use.
func (a *Allocator) Mark(k trace.Kind, number int64, text string) {
	note := a.names.mark(text)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tick()
	a.record(k, 0, number, a.streamOf(0), 0, Tag{event: note})
}
