package savings

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/trace"
)

// Part is memory of one stack, category and size of block.
type Part struct {
	Stack    trace.StackID // where it was made, 0 when not known
	Note     trace.NoteID
	Category trace.Category
	Size     int64 // bytes of each
	Count    int
	Passing  bool // an optimizer's or a weight, freed in the step that made it
	Unused   bool // a graph keeps it for a backward pass that does not come
	Old      int  // of Count, made before the step under way
}

// New returns how many blocks the step under way has made.
func (p *Part) New() int { return p.Count - p.Old }

// Bytes returns the bytes of the whole part.
func (p *Part) Bytes() int64 { return p.Size * int64(p.Count) }

// Scene has the live memory at one moment, and what is known of the program.
type Scene struct {
	Tables *trace.Tables
	Code   *lines.Code
	Words  *Words
	Parts  []Part
	Bytes  int64 // of all parts
	// Unfinished says that the recording ends with the forward pass of this moment.
	Unfinished bool
	// Checkpointing and Autocast are on now, as the program itself says.
	Checkpointing, Autocast bool
	// Differentiates is whether a backward pass has a graph itself. Then what keeps activations is no layer's forward alone.
	Differentiates bool
}

// Saving is memory that the program could save.
type Saving struct {
	Kind      *Kind
	Bytes     int64         // that it is about
	Saved     int64         // bytes that it would save at this moment; at another one less may be in the way
	Reduction Reduction     // what it takes away at every moment
	Most      *Reduction    // what it takes at most, nil if Reduction is exact
	Stack     trace.StackID // of the largest part of it
	Evidence  string        // a clause with the numbers
	Remedy    string        // a clause
}

// Find returns the savings that it finds, in the order of [Kinds].
func (s *Scene) Find() []Saving {
	var found []Saving
	for k := range Kinds {
		if a := Kinds[k].find(s); s.Much(a.Bytes, Kinds[k].least) {
			a.Kind, a.Saved = &Kinds[k], a.Reduction.Gone(a.Reduction.sum(s))
			found = append(found, a)
		}
	}
	return found
}

// of returns the traits of all frames on a part's stack.
func (s *Scene) of(p *Part) traits.Set { return s.Words.notes[p.Note] | s.Words.stacks[p.Stack] }

// dtype returns the type of elements that a note says, "" for none.
func (s *Scene) dtype(note trace.NoteID) string { return s.Tables.String(s.Tables.Notes[note].DType) }

// trains reports whether the program has a backward pass.
func (s *Scene) trains() bool {
	if s.Words.all&traits.Backward != 0 {
		return true
	}
	return slices.ContainsFunc(s.Parts, func(p Part) bool {
		return p.Category == trace.Gradient || p.Category == trace.Optimizer || p.Category == trace.BackwardTemporary
	})
}

// sum gathers parts that belong together.
type sum struct {
	bytes, largest int64
	count          int
	stack          trace.StackID // of the largest part
	note           trace.NoteID  // likewise
}

func (t *sum) add(p *Part) {
	bytes := p.Bytes()
	t.bytes, t.count = t.bytes+bytes, t.count+p.Count
	if bytes > t.largest {
		t.largest, t.stack, t.note = bytes, p.Stack, p.Note
	}
}

// largest returns the bytes of the largest block of some parts.
func (s *Scene) largest(fits func(p *Part) bool) (size int64) {
	for i := range s.Parts {
		if p := &s.Parts[i]; fits(p) {
			size = max(size, p.Size)
		}
	}
	return size
}

// sum adds up the parts that fit.
func (s *Scene) sum(fits func(p *Part) bool) sum {
	var t sum
	for i := range s.Parts {
		if fits(&s.Parts[i]) {
			t.add(&s.Parts[i])
		}
	}
	return t
}

// old adds up the parts that fit and are there from the step before, and what of them is.
func (s *Scene) old(fits func(p *Part) bool) (t sum, bytes int64) {
	for i := range s.Parts {
		if p := &s.Parts[i]; p.Old > 0 && fits(p) {
			t.add(p)
			bytes += p.Size * int64(p.Old)
		}
	}
	return t, bytes
}

// at names the line that a stack's memory is from, "" where it is not known.
func (s *Scene) at(stack trace.StackID) string {
	line := s.Code.Line(stack)
	if line == 0 {
		return ""
	}
	return " at " + s.Code.FrameLabel(line)
}

// Much reports whether bytes are at least so many percent of all.
func (s *Scene) Much(bytes, percent int64) bool { return bytes > 0 && bytes*100 >= s.Bytes*percent }
