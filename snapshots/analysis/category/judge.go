package category

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Judge has a verdict on every allocation of one device. It is owned by one
// goroutine while it advances; in between any number may ask it.
type Judge struct {
	tables *trace.Tables
	events trace.Events
	life   *trace.Lifetimes

	traits []trait // by frame
	stacks []stack // by stack
	notes  []trace.Category
	noted  []bool // by note: it has an exact category

	flats map[trace.StringID]int32 // by file, the last line that makes a flat buffer

	rules   []Rule // by event, of the allocation that it made
	held    []Rule
	longest [2]int // the first and last event of the longest whole backward pass
	blank   int    // allocations within the trace without an exact category
	judged  int    // events of which the rules are final
	walked  int    // events of which blank counts
	native  bool   // some stack has a frame of C++
	stacked bool   // some allocation has a stack
	// silentEngine says that a stack without a frame is that of the autograd engine's
	// thread; echoed, that a free has the stack of the allocation that it ends.
	silentEngine, echoed bool
	generation           int
}

// again is by which part a trace has to grow before all of it is judged again;
// small ones are, whenever they grow.
const (
	again = 8
	small = 1 << 15
)

// NewJudge returns a judge of no trace yet.
func NewJudge() *Judge { return &Judge{flats: make(map[trace.StringID]int32)} }

// Advance takes a longer trace of the same device. What becomes of an allocation
// may change the verdict on others, so all are judged again, but not more often
// than their number allows: in between, new ones are judged by their stacks alone.
func (j *Judge) Advance(tables *trace.Tables, events trace.Events, life *trace.Lifetimes) {
	j.tables, j.events, j.life = tables, events, life
	j.readNotes(tables)
	j.readStacks(tables)
	j.walk()
	due := events.Len() < small || events.Len() >= j.judged+j.judged/again
	if due && j.blank > 0 {
		j.judgeAll()
	}
	if due || len(j.held) != len(life.Held) {
		j.judgeHeld()
	}
	if due {
		j.judged = events.Len()
	}
}

// Generation grows when verdicts change that were given before.
func (j *Judge) Generation() int { return j.generation }

// readNotes judges the notes that are new.
func (j *Judge) readNotes(t *trace.Tables) {
	for id := len(j.notes); id < len(t.Notes); id++ {
		category, known := trace.OtherCategory, false
		if name := t.Notes[id].Category; name != 0 {
			category, known = trace.NamedCategory(t.String(name))
		}
		j.notes, j.noted = append(j.notes, category), append(j.noted, known)
	}
}

// walk reads the events that are new.
func (j *Judge) walk() {
	j.rules = slices.Grow(j.rules, j.events.Len()-j.walked)
	for j.walked < j.events.Len() {
		part := j.events.Span(j.walked)
		for k := range part {
			e := &part[k]
			rule := NoRule
			if e.Kind == trace.Alloc {
				if !j.noted[e.Note] {
					j.blank++
				}
				j.stacked = j.stacked || e.Stack > trace.EmptyStack
				rule = j.first(e.Stack)
			}
			j.rules = append(j.rules, rule)
		}
		j.walked += len(part)
	}
	j.silentEngine = j.stacked && !j.native
}

// first judges by the stack alone.
func (j *Judge) first(id trace.StackID) Rule {
	if j.stacks[id].maker == flatMaker {
		return j.flat(id)
	}
	if rule := byMaker[j.stacks[id].maker]; rule != NoRule {
		return rule
	}
	if id <= trace.EmptyStack {
		return noStack
	}
	return NoRule
}

// Noted reports whether the writer noted a category.
func (j *Judge) Noted(note trace.NoteID) bool { return j.noted[note] }

// AnyNoted reports whether some note has a category.
func (j *Judge) AnyNoted() bool {
	for _, noted := range j.noted {
		if noted {
			return true
		}
	}
	return false
}

// Of returns the category of an allocation and the rule that gives it. Its note may
// be another than when it was made.
func (j *Judge) Of(id trace.AllocationID, note trace.NoteID) (trace.Category, Rule) {
	if j.noted[note] {
		return j.notes[note], noted
	}
	if k, held := id.Held(); held {
		return table[j.held[k]].category, j.held[k]
	}
	return table[j.rules[id]].category, j.rules[id]
}

// Frame returns the frame of a stack that decides what it makes, 0 when none does.
func (j *Judge) Frame(id trace.StackID) trace.FrameID { return j.stacks[id].frame }

// Stack returns the category that a stack alone speaks for.
func (j *Judge) Stack(id trace.StackID) trace.Category { return table[j.first(id)].category }
