package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/trace"
)

// save finds the parts of the peak that could be smaller. What does not lower the
// peak is no saving.
func (f *finder) save() {
	top := f.top()
	scene := f.index.named(top.scene, top.event)
	found := scene.Find()
	from, to := 0, f.index.events.Len()
	if step := f.lastStep(); step != nil {
		from, to = step.From, step.End+1
	}
	if f.index.History() { // else there is but this moment
		for _, a := range found {
			if a.Most != nil {
				found = append(found, savings.Saving{Reduction: *a.Most})
			}
		}
		f.index.drops(scene, found, from, to, 0)
	}
	most := slices.DeleteFunc(slices.Clone(found), func(a savings.Saving) bool { return a.Kind != nil })
	checkpointed := int64(0)
	for _, a := range found {
		if a.Kind == nil {
			break
		}
		if a.Kind.Name == "checkpointing" {
			checkpointed = a.Saved
		}
		if !scene.Much(a.Saved, 1) && !a.Kind.Told || a.Kind.Name == "save_on_cpu" && 2*checkpointed >= a.Saved || strings.HasPrefix(a.Kind.Name, "stale_") && f.grows(a) {
			continue
		}
		add := Finding{
			Kind: a.Kind, Bytes: a.Bytes, Saving: a.Saved, Evidence: a.Evidence, Remedy: a.Remedy,
			Confidence: Possible, Where: Where{top.event, a.Stack},
		}
		if a.Kind.Sure {
			add.Confidence = Probable
		}
		if a.Most != nil && len(most) > 0 {
			add.Most, most = most[0].Saved, most[1:]
		}
		f.add(add)
	}
}

// grows reports whether what a saving is about grows: it is not of the step before.
func (f *finder) grows(a savings.Saving) bool {
	return slices.ContainsFunc(f.index.Growth(), func(g Growth) bool {
		return g.Stack == a.Stack || a.Kind.Name == "stale_gradients" && f.index.verdicts().Stack(g.Stack) == trace.Gradient
	})
}

// named returns a scene with all that savings need. It leaves out a saving that the
// program says is already on. A kept scene may be older than the tables, which only
// grow.
func (x *Index) named(scene *savings.Scene, at int) *savings.Scene {
	s := *scene
	s.Tables, s.Code, s.Words = x.tables, x.Code(), x.words()
	s.Checkpointing, s.Autocast = x.setting("checkpoint", "none"), x.setting("amp", "off")
	s.Unfinished, s.Differentiates = x.unfinished(at), x.verdicts().Differentiates()
	return &s
}

// unfinished reports whether what a graph keeps at an event is there to the end of the
// recording, which may end before the backward pass.
func (x *Index) unfinished(at int) bool {
	if len(x.Steps()) > 1 {
		return false
	}
	var kept, all int64
	p := newParts(x)
	for _, a := range x.alive(at) {
		if p.all[p.of(&a)].Unused {
			if all += a.Size; a.Close == trace.Never {
				kept += a.Size
			}
		}
	}
	return 2*kept > all
}

// sceneOf returns the live memory right after an event, for package savings. The
// method savings adds the names.
func (x *Index) sceneOf(alive []trace.Allocation, at int) *savings.Scene {
	s := new(savings.Scene)
	begin, p := x.stepBegin(at), newParts(x)
	for i := range alive {
		a := &alive[i]
		k := p.of(a)
		part := &p.all[k]
		part.Count++
		if a.Open < begin {
			part.Old++
		}
		s.Bytes += a.Size
	}
	s.Parts = p.all
	slices.SortStableFunc(s.Parts, func(a, b savings.Part) int { return cmp.Compare(b.Bytes(), a.Bytes()) })
	return s
}

// words judges the names of frames once, for all questions about savings.
func (x *Index) words() *savings.Words {
	return x.kept.words.get(x, func(w *savings.Words) *savings.Words {
		if w == nil {
			w = new(savings.Words)
		}
		w.Read(x.tables, x.verdicts().Traits())
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

// remedy returns PyTorch's setting against fragmentation, unless it is on
// already. Whether it helps here depends on the requests: only a replay proves
// it.
func (x *Index) remedy() string {
	if geometry := trace.NewGeometry(x.trace.Settings); geometry.Expandable || unexpandable.MatchString(x.trace.Info.Writer) || geometry.Uncached || x.kinds[trace.SegmentMap] > 0 || x.trace.Live != nil {
		return ""
	}
	return "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True may help (memtop replay)"
}
