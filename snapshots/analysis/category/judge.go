package category

import (
	"encoding/json"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/trace"
)

// Judge gives every allocation of one device a category. It is owned by one
// goroutine while it advances; in between, any number of goroutines may ask it.
type Judge struct {
	tables *trace.Tables
	events trace.Events
	life   *trace.Lifetimes
	ended  []trace.Held // all from before the trace that an event ended, and maybe others

	traits []traits.Set // by frame
	stacks []stack      // by stack
	notes  []trace.Category
	noted  []bool // by note: it has an exact category
	// anyNoted says that some note has one, and steps that the writer saw an optimizer's step.
	anyNoted, steps bool

	flats map[trace.StringID]int32 // by file, the last line that makes a flat buffer
	// movesGradients has the frames of modules that move gradients after their weights.
	movesGradients map[trace.FrameID]bool

	rules         []Rule // by event, of the allocation that it made
	held          []Rule
	longest       [2]int        // the first and last event of the longest whole backward pass
	gradients     map[int64]int // by size, how many there are of parameters
	firstBackward int           // the first event of a backward pass, Never without one
	last          int           // the last event that allocates: who frees later ends the program
	blank         bool          // some allocation within the trace has no exact category
	judged        int           // events of which the rules are final
	native        bool          // some stack has a frame of C++
	stacked       bool          // some allocation has a stack
	moves         bool          // some module is moved to the device
	views         bool          // gradients lie in the buckets of DistributedDataParallel
	calls         []int32       // the first events of spans: of one call of the model each, or of a part of a step
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

// NewJudge returns a judge that has read no events.
func NewJudge() *Judge {
	return &Judge{flats: make(map[trace.StringID]int32), movesGradients: make(map[trace.FrameID]bool)}
}

// Advance takes a longer trace of the same device. The end of an allocation may
// change the verdict on others, so the judge then judges all allocations again.
// To bound the cost it does so only when the trace has grown by a fraction. In
// between, it judges new allocations by their stacks alone.
func (j *Judge) Advance(tables *trace.Tables, events trace.Events, life *trace.Lifetimes) {
	j.Begin(tables, events, life, func() []trace.Held { return life.Held })()
}

// Begin is the first part of Advance. Of life it needs only which event ends each
// allocation, and only once replayed has returned the allocations from before the
// trace that an event ends, and maybe others. It returns the rest of Advance, which
// needs the results of Begin and all of life.
func (j *Judge) Begin(tables *trace.Tables, events trace.Events, life *trace.Lifetimes, replayed func() []trace.Held) (rest func()) {
	j.tables, j.events, j.life = tables, events, life
	noted := j.anyNoted
	j.readNotes(tables)
	j.readStacks(tables)
	due := j.anyNoted != noted || events.Len() < small || events.Len() >= j.judged+j.judged/again
	made := len(j.rules)
	j.walk()
	if due && j.blank {
		c := newCut(j)
		j.ended = replayed()
		j.judgeAll(c)
	} else {
		for i, e := range events.Range(made, len(j.rules)) {
			if e.Kind == trace.Alloc {
				j.rules[i] = j.first(e.Stack)
			}
		}
	}
	return func() {
		if due || len(j.held) != len(life.Held) {
			j.judgeHeld()
		}
		if due {
			j.judged = events.Len()
		}
	}
}

// Generation grows when earlier verdicts change.
func (j *Judge) Generation() int { return j.generation }

// readNotes judges the notes that are new.
func (j *Judge) readNotes(t *trace.Tables) {
	for id := len(j.notes); id < len(t.Notes); id++ {
		category, known := trace.OtherCategory, false
		if name := t.Notes[id].Category; name != 0 {
			category, known = trace.NamedCategory(t.String(name))
		}
		j.anyNoted = j.anyNoted || known
		j.steps = j.steps || category == trace.Gradient || category == trace.Optimizer
		if !known {
			category, known = labelled(t, trace.NoteID(id))
		}
		j.notes, j.noted = append(j.notes, category), append(j.noted, known)
	}
}

// labelled returns the category that the program itself calls memory by. PyTorch writes metadata that is a dict as JSON.
func labelled(t *trace.Tables, note trace.NoteID) (trace.Category, bool) {
	said := struct{ Category string }{t.Label(note)}
	if said.Category != "" {
		_ = json.Unmarshal([]byte(said.Category), &said) // what is no JSON is a name itself
	}
	c, named := trace.NamedCategory(said.Category)
	return c, named && c.String() == said.Category
}

// walk looks among the events that are new for what it has not seen yet, and leaves
// what they made without a verdict.
func (j *Judge) walk() {
	for k := j.events.Len() - 1; k > j.last && k >= len(j.rules); k-- {
		if j.events.At(k).Kind == trace.Alloc {
			j.last = k
		}
	}
	for _, e := range j.events.Range(len(j.rules), j.events.Len()) {
		if j.blank && j.stacked {
			break
		}
		if e.Kind == trace.Alloc {
			j.blank = j.blank || !j.noted[e.Note]
			j.stacked = j.stacked || e.Stack > trace.EmptyStack
		}
	}
	j.rules = append(j.rules, make([]Rule, j.events.Len()-len(j.rules))...)
	j.silentEngine = j.stacked && !j.native
}

// first judges by the stack alone.
func (j *Judge) first(id trace.StackID) Rule {
	if j.stacks[id].maker == flatMaker {
		return j.flat(id)
	}
	if j.views && j.stacks[id].maker == bucketMaker {
		return bucketViewed
	}
	if j.movesGradients[j.stacks[id].frame] {
		return gradientMoved
	}
	if rule := byMaker[j.stacks[id].maker]; rule != NoRule {
		return rule
	}
	if id <= trace.EmptyStack {
		return noStack
	}
	return NoRule
}

// AnyNoted reports whether some note has a category.
func (j *Judge) AnyNoted() bool { return j.anyNoted }

// AllNoted reports whether every allocation within the trace has an exact category.
func (j *Judge) AllNoted() bool { return j.anyNoted && !j.blank }

// Of returns the category of an allocation and the rule that gives it. The note
// may differ from the one that the allocation was made with.
func (j *Judge) Of(id trace.AllocationID, note trace.NoteID) (trace.Category, Rule) {
	if j.noted[note] {
		return j.notes[note], noted
	}
	if k, held := id.Held(); held {
		return table[j.held[k]].category, j.held[k]
	}
	return table[j.rules[id]].category, j.rules[id]
}

// Frame returns the frame that decides the category of a stack, 0 if none does.
func (j *Judge) Frame(id trace.StackID) trace.FrameID { return j.stacks[id].frame }

// Traits returns what each frame does, by its name.
func (j *Judge) Traits() []traits.Set { return j.traits }

// Call returns the number of the call of the model that an event is in, or of what lies between two.
func (j *Judge) Call(event int) int {
	at, _ := slices.BinarySearch(j.calls, int32(event)+1)
	return at
}

// Differentiates reports whether a backward pass has a graph itself: backward frees what one before made.
func (j *Judge) Differentiates() bool {
	for i, rule := range j.rules {
		if rule == freedByEngine && j.makerOf(j.events.At(i).Stack) == backwardMaker {
			return true
		}
	}
	return false
}

// Stack returns the category that follows from a stack alone.
func (j *Judge) Stack(id trace.StackID) trace.Category { return table[j.first(id)].category }
