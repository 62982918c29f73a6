package analysis

import (
	"cmp"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/trace"
)

// savingKinds are the kinds of findings that package savings makes.
var savingKinds = func() map[*savings.Kind]*FindingKind {
	kinds := make(map[*savings.Kind]*FindingKind)
	for i := range savings.Kinds {
		k := &savings.Kinds[i]
		kinds[k] = &FindingKind{Name: k.Name, Change: k.Change, Speaks: k.Speaks, Silent: k.Silent, Saving: k.Saving}
	}
	return kinds
}()

// save finds the parts of the peak that could be smaller.
func (f *finder) save() {
	top := f.top()
	for _, a := range f.index.savings(top.scene) {
		found := Finding{
			Kind: savingKinds[a.Kind], Bytes: a.Bytes, Saving: a.Saved, Evidence: a.Evidence, Remedy: a.Remedy,
			Confidence: Possible, Where: Where{top.event, a.Stack},
		}
		if a.Kind.Sure {
			found.Confidence = Probable
		}
		f.add(found)
	}
}

// savings finds the savings of a scene. It leaves out a saving that the program
// says is already on. A kept scene may be older than the tables, which only grow.
func (x *Index) savings(scene *savings.Scene) []savings.Saving {
	s := *scene
	s.Tables, s.Code, s.Words = x.tables, x.Code(), x.words()
	s.Checkpointing, s.Autocast = x.setting("checkpoint", "none"), x.setting("amp", "off")
	return s.Find()
}

// partKey is the properties that the blocks of a part have in common.
type partKey struct {
	stack    trace.StackID
	note     trace.NoteID
	category trace.Category
	size     int64
}

// sceneOf returns the live memory right after an event, for package savings. The
// method savings adds the names.
func (x *Index) sceneOf(alive []trace.Allocation, at int) *savings.Scene {
	s := new(savings.Scene)
	begin, j := x.stepBegin(at), x.verdicts()
	places, notes := make(map[partKey]int), newNoteKinds(x.tables)
	for i := range alive {
		a := &alive[i]
		category, _ := j.Of(a.ID, a.Note)
		key := partKey{a.Stack, notes.of(a.Note), category, a.Size}
		if a.FreeStack {
			key.stack = 0
		}
		k, ok := places[key]
		if !ok {
			k = len(s.Parts)
			places[key] = k
			s.Parts = append(s.Parts, savings.Part{Stack: key.stack, Note: key.note, Category: category, Size: a.Size})
		}
		s.Parts[k].Count++
		if a.Open < begin {
			s.Parts[k].Old++
		}
		s.Bytes += a.Size
	}
	slices.SortStableFunc(s.Parts, func(a, b savings.Part) int { return cmp.Compare(b.Bytes(), a.Bytes()) })
	return s
}

// words judges the names of frames once, for all questions about savings.
func (x *Index) words() *savings.Words {
	return x.kept.words.get(x, func(w *savings.Words) *savings.Words {
		if w == nil {
			w = new(savings.Words)
		}
		w.Read(x.tables)
		return w
	})
}

// setting reports whether the program says that a setting is on now.
func (x *Index) setting(key, off string) bool {
	steps := x.trace.Steps
	if len(steps) == 0 {
		return false
	}
	for _, v := range steps[len(steps)-1].Settings {
		if v.Key == key {
			return v.Value != "" && v.Value != off
		}
	}
	return false
}

// stepBegin returns the first event of the step that an event is in, −1 if steps
// are not known.
func (x *Index) stepBegin(at int) int {
	steps := x.Steps()
	for i := range steps {
		if steps[i].From <= at && at < steps[i].To {
			return steps[i].From
		}
	}
	return -1
}

// noteKinds finds, for each note, the first note with the same role and type.
type noteKinds struct {
	tables *trace.Tables
	first  map[[2]trace.StringID]trace.NoteID
}

func newNoteKinds(t *trace.Tables) *noteKinds {
	return &noteKinds{t, make(map[[2]trace.StringID]trace.NoteID)}
}

func (a *noteKinds) of(id trace.NoteID) trace.NoteID {
	if id == 0 {
		return 0
	}
	n := &a.tables.Notes[id]
	key := [2]trace.StringID{n.Role, n.DType}
	if first, ok := a.first[key]; ok {
		return first
	}
	a.first[key] = id
	return id
}

// remedy returns PyTorch's setting against fragmentation, unless it is on
// already. Whether it helps here depends on the requests: only a replay proves
// it.
func (x *Index) remedy() string {
	if rules := trace.NewRounding(x.trace.Settings); rules.Expandable || rules.Uncached || x.kinds[trace.SegmentMap] > 0 || x.trace.Live != nil {
		return ""
	}
	return "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True may help (memtop replay)"
}
