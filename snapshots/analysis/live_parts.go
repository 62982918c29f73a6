package analysis

import (
	"sort"

	"github.com/memtop/memtop/snapshots/analysis/category"
	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/trace"
)

// partKey is the properties that the blocks of a part have in common.
type partKey struct {
	stack    trace.StackID
	note     trace.NoteID
	category trace.Category
	size     int64
	passing  bool
	unused   bool
}

// parts numbers the parts of a trace as they come up.
type parts struct {
	x      *Index
	judge  *category.Judge
	notes  []noteKind // by note
	first  map[[2]trace.StringID]trace.NoteID
	ends   []int // of the steps
	whole  bool  // a backward pass that is not there did not come
	passes []int // events of backward passes, where the writer noted what memory is for
	known  map[partKey]int
	keys   []partKey // by part
	recent []int32   // by stack, the last part and 1: most allocations of a stack are alike
	all    []savings.Part
}

func newParts(x *Index) *parts {
	p := &parts{
		x: x, judge: x.verdicts(), notes: make([]noteKind, len(x.tables.Notes)), first: make(map[[2]trace.StringID]trace.NoteID),
		known: make(map[partKey]int), recent: make([]int32, x.tables.StackCount()),
	}
	p.whole = x.trace.Live == nil && !x.trace.Info.Truncated
	if p.whole && p.judge.AnyNoted() {
		p.passes = x.backwardAllocs()
	}
	for _, s := range x.Steps() {
		p.ends = append(p.ends, s.To)
	}
	return p
}

// backwardAllocs returns the events that allocate what only a backward pass makes.
func (x *Index) backwardAllocs() []int {
	judge := x.verdicts()
	return x.kept.passes.get(x, func([]int) (passes []int) {
		for i := range x.events.Len() {
			if e := x.events.At(i); e.Kind == trace.Alloc {
				if c, _ := judge.Of(trace.AllocationID(i), e.Note); c == trace.BackwardTemporary || c == trace.Gradient {
					passes = append(passes, i)
				}
			}
		}
		return passes
	})
}

// of returns the number of an allocation's part.
func (p *parts) of(a *trace.Allocation) int {
	of, rule := p.judge.Of(a.ID, a.Note)
	key := partKey{stack: a.Stack, note: p.note(a.Note).first, category: of, size: a.Size, unused: p.unused(a, of, rule)}
	if a.FreeStack {
		key.stack = 0
	}
	if !key.unused && p.note(a.Note).beyond {
		of, key.category = trace.OtherCategory, trace.OtherCategory
	}
	if of == trace.Optimizer || of == trace.Parameter {
		key.passing = rule.Passes() || a.Open >= 0 && a.Close < p.stepEnd(a.Open)
	}
	recent := &p.recent[max(key.stack, 0)]
	if *recent > 0 && p.keys[*recent-1] == key {
		return int(*recent - 1)
	}
	k, ok := p.known[key]
	if !ok {
		k = len(p.all)
		p.known[key], p.keys = k, append(p.keys, key)
		p.all = append(p.all, savings.Part{Stack: key.stack, Note: key.note, Category: of, Size: a.Size, Passing: key.passing, Unused: key.unused})
	}
	*recent = int32(k + 1)
	return k
}

// unused reports whether a graph keeps an allocation for a backward pass that does not come: it is gone before
// the next one begins. What is known to be kept without a graph is not.
func (p *parts) unused(a *trace.Allocation, of trace.Category, rule category.Rule) bool {
	switch {
	case !p.whole, p.note(a.Note).alone:
		return false
	case rule.Unused():
		return true
	case of != trace.Activation || rule.Strength() != category.Exact || a.Open < 0 || len(p.x.oomEvents) > 0:
		return false
	}
	next := sort.SearchInts(p.passes, a.Open)
	return next == len(p.passes) || a.Close <= p.passes[next]
}

// stepEnd returns the end of the step that an event is in, −1 if it is in none.
func (p *parts) stepEnd(event int) int {
	if k := sort.SearchInts(p.ends, event+1); k < len(p.ends) {
		return p.ends[k]
	}
	return -1
}

// noteKind is what parts ask of a note.
type noteKind struct {
	first         trace.NoteID // with the same role and type; 0 of a note that was not asked of yet
	beyond, alone bool         // as Index.beyond and Index.keptAlone
}

// note looks at each note once: many allocations share one.
func (p *parts) note(id trace.NoteID) *noteKind {
	k := &p.notes[id]
	if id == 0 || k.first > 0 {
		return k
	}
	n := &p.x.tables.Notes[id]
	key := [2]trace.StringID{n.Role, n.DType}
	if p.first[key] == 0 {
		p.first[key] = id
	}
	*k = noteKind{p.first[key], p.x.beyond(id), p.x.keptAlone(id)}
	return k
}
