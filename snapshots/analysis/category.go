package analysis

import "memtop/snapshots/trace"

// Rule says why an allocation has its category.
type Rule struct {
	Name  string
	Exact bool          // the writer noted the category; otherwise it is a guess
	Frame trace.FrameID // the frame that decided, 0 when none did
}

// verdict is a category and the rule behind it.
type verdict struct {
	category trace.Category
	rule     uint8 // index into guessRules, or one of the special ones
	frame    trace.FrameID
}

// classifier holds a verdict for every stack and every note. Numbers only grow,
// so those of a longer trace are added.
type classifier struct {
	stacks []verdict
	notes  []verdict
	noted  []bool   // the note has an exact category
	masks  []uint16 // by frame, the rules that know it
	// transient tells optimizer state from what optimizer code gives back.
	transient transientWalk
	// generation grows when a verdict changes that some memory depends on.
	generation int
}

// of returns the verdict on an allocation.
func (c *classifier) of(stack trace.StackID, note trace.NoteID) verdict {
	if c.noted[note] {
		return c.notes[note]
	}
	return c.stacks[stack]
}

func (x *Index) classifier() *classifier {
	return x.kept.categories.get(x, func(c *classifier) *classifier {
		if c == nil {
			c = new(classifier)
		}
		c.readNotes(x.tables)
		c.readStacks(x.tables)
		c.findTransient(x)
		return c
	})
}

// readNotes judges the notes that are new.
func (c *classifier) readNotes(t *trace.Tables) {
	for id := len(c.notes); id < len(t.Notes); id++ {
		v, noted := verdict{}, false
		if name := t.Notes[id].Category; name != 0 {
			var category trace.Category
			category, noted = trace.NamedCategory(t.String(name))
			v = verdict{category: category, rule: ruleExact}
		}
		c.notes, c.noted = append(c.notes, v), append(c.noted, noted)
	}
}

// Category returns what the allocation is used for and why memtop thinks so.
// Rule.Exact tells a writer's word from a guess.
func (x *Index) Category(a trace.Allocation) (trace.Category, Rule) {
	v := x.verdict(a.Stack, a.Note, a.FreeStack)
	return v.category, Rule{Name: ruleName(v.rule), Exact: v.rule == ruleExact, Frame: v.frame}
}

// verdict judges one allocation. The stack of a free says nothing of what the
// memory was for.
func (x *Index) verdict(stack trace.StackID, note trace.NoteID, freeStack bool) verdict {
	c := x.classifier()
	if freeStack && !c.noted[note] {
		return verdict{category: trace.OtherCategory, rule: ruleHeld}
	}
	return c.of(stack, note)
}

// Guessed reports whether some category of this device is a guess: whether
// any stack, or memory without a stack, has no exact note. Our own engine notes
// every allocation; PyTorch notes none.
func (x *Index) Guessed() bool {
	c := x.classifier()
	for note := range c.noted {
		if c.noted[note] {
			return false
		}
	}
	return true
}

// CategoriesAt returns the requested bytes of each category right after an
// event. They sum to RequestedAt.
func (x *Index) CategoriesAt(event int) [trace.CategoryCount]int64 {
	var sums [trace.CategoryCount]int64
	for band, bytes := range x.categorySeries().at(x, x.clamp(event)) {
		sums[trace.Categories[min(band, trace.OtherCategory.Place())]] += bytes
	}
	return sums
}

// CountCategories is CategoriesAt for one moment, without the series that makes
// many moments cheap.
func (x *Index) CountCategories(at int) [trace.CategoryCount]int64 {
	var sums [trace.CategoryCount]int64
	at = x.clamp(at)
	x.life.Alive(at, func(id trace.AllocationID) bool {
		a := x.life.AllocationAt(id, at)
		sums[x.verdict(a.Stack, a.Note, a.FreeStack).category] += a.Size
		return true
	})
	return sums
}
