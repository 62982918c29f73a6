package analysis

import "memtop/snapshots/trace"

// transientWalk tells which optimizer code leaves memory behind: it walks over
// the events once and looks, at every allocation by anything else, whether what
// optimizer code made since the last one is still there.
type transientWalk struct {
	optimizer []bool // by stack, the stack is optimizer code
	any       bool
	stays     []bool // by stack, something of it outlived the next allocation
	used      []bool // by stack, memory without an exact category is of it
	recent    []trace.AllocationID
	n         int // events read
	heldN     int
}

func (w *transientWalk) add(optimizer bool) {
	w.optimizer = append(w.optimizer, optimizer)
	w.stays = append(w.stays, false)
	w.used = append(w.used, false)
	w.any = w.any || optimizer
}

// findTransient turns optimizer code that leaves nothing behind into workspace.
func (c *classifier) findTransient(x *Index) {
	w := &c.transient
	if !w.any {
		w.n = x.events.Len() // what was read meanwhile is by no optimizer
		return
	}
	for ; w.heldN < len(x.life.Held); w.heldN++ {
		h := &x.life.Held[w.heldN]
		w.stays[h.Stack] = true
		w.used[h.Stack] = w.used[h.Stack] || !c.noted[h.Note]
	}
	w.read(x, c)
	alive := make(map[trace.StackID]bool, len(w.recent))
	for _, id := range w.recent {
		if x.life.Closed(int(id)) == trace.Never {
			alive[x.events.At(int(id)).Stack] = true
		}
	}
	for id := range c.stacks {
		if w.optimizer[id] {
			c.settle(trace.StackID(id), w.stays[id] || alive[trace.StackID(id)])
		}
	}
}

// read walks over the events that came since.
func (w *transientWalk) read(x *Index, c *classifier) {
	for w.n < x.events.Len() {
		span := x.events.Span(w.n)
		for j := range span {
			if e := &span[j]; e.Kind == trace.Alloc {
				w.alloc(x, w.n+j, e, c.noted[e.Note])
			}
		}
		w.n += len(span)
	}
}

func (w *transientWalk) alloc(x *Index, i int, e *trace.Event, noted bool) {
	if w.optimizer[e.Stack] {
		w.used[e.Stack] = w.used[e.Stack] || !noted
		if !w.stays[e.Stack] {
			w.recent = append(w.recent, trace.AllocationID(i))
		}
		return
	}
	for _, id := range w.recent {
		if x.life.Closed(int(id)) > i {
			w.stays[x.events.At(int(id)).Stack] = true
		}
	}
	w.recent = w.recent[:0]
}

// settle says whether an optimizer's stack makes state.
func (c *classifier) settle(stack trace.StackID, stays bool) {
	v := &c.stacks[stack]
	before := v.category
	v.category, v.rule = trace.Workspace, ruleTransient
	if stays {
		v.category, v.rule = trace.Optimizer, optimizerRule
	}
	if v.category != before && c.transient.used[stack] {
		c.generation++
	}
}
