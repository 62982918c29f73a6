package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/memtop/memtop/snapshots/analysis/savings"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// findChanges finds the changes to the program's memory that would have made the
// request fit. A replay finds the effect of other settings of the allocator.
func (f *Failure) findChanges(x *Index, scene *savings.Scene) {
	if f.Short <= 0 {
		return
	}
	more, known := f.rest(x)
	f.Open = !known
	f.releasePins(x)
	if known {
		f.smallerBatch(more)
	}
	f.follow(x, x.named(scene, f.Event), more)
}

// mostChanges is how many changes to the program's memory are listed.
const mostChanges = 4

// follow takes each saving with which all that was recorded until then, the request and
// what the step is known to need after it fit beside what the allocator cannot use, the
// smallest saving first.
func (f *Failure) follow(x *Index, scene *savings.Scene, more int64) {
	found := scene.Find()
	if !x.History() || len(found) == 0 {
		return
	}
	x.drops(scene, found, 0, f.Event+1, f.Need+more)
	_, peak := x.Highest(0, f.Event+1)
	peak = max(peak, f.Live+f.Need+more)
	slices.SortStableFunc(found, func(a, b savings.Saving) int { return cmp.Compare(a.Saved, b.Saved) })
	for _, a := range found {
		if a.Saved == 0 || peak-a.Saved > f.Live+f.DeviceFree || len(f.WouldFit) == mostChanges {
			continue
		}
		basis := Estimated
		if a.Kind.Sure {
			basis = Counted
		}
		f.WouldFit = append(f.WouldFit, Change{Text: a.Kind.Change, Saving: a.Saved, Basis: basis})
	}
}

// AddSettings puts first the settings of the allocator that would have met the
// request, because they cost the program nothing. It leaves out settings of which
// the replay is not certain.
func (f *Failure) AddSettings(changes []whatif.Change) {
	var met []Change
	for _, c := range changes {
		if c.Certain {
			text := "PYTORCH_CUDA_ALLOC_CONF=" + c.Settings
			if c.Settings == "" {
				text = "PYTORCH_CUDA_ALLOC_CONF not set"
			}
			met = append(met, Change{Text: text, Saving: c.Saving, Basis: Replayed})
		}
	}
	f.WouldFit = append(met, f.WouldFit...)
}

// releasePins frees the few blocks that keep segments, until enough segments go
// back.
func (f *Failure) releasePins(x *Index) {
	var live, back int64
	for n, pin := range f.Pins {
		live, back = live+pin.Live, back+pin.Segment
		if back < f.Short {
			continue
		}
		text := "free " + quantity.Bytes(live) + " that " + pinning(n+1)
		if n == 0 {
			text += ", from " + x.StackName(pin.Stack)
		}
		f.WouldFit = append(f.WouldFit, Change{Text: text, Saving: back, Basis: Counted})
		return
	}
}

func pinning(n int) string {
	if n == 1 {
		return "pins a segment"
	}
	return fmt.Sprintf("pin %d segments", n)
}

// rest returns how much more than with this request the step needs. It is known only if
// a step before got as far, and ended.
func (f *Failure) rest(x *Index) (more int64, known bool) {
	for _, s := range x.Steps() {
		if s.To > f.Event || s.To <= s.From {
			break
		}
		_, peak := x.Highest(s.From, s.To)
		more, known = max(0, peak-f.Live-f.Requested), peak >= f.Live+f.Requested
	}
	return more, known
}

// smallerBatch finds how many fewer samples at once would make room. Fewer samples
// shrink the memory that grows with them, and the request.
func (f *Failure) smallerBatch(more int64) {
	grows := f.Requested
	for _, c := range trace.Categories {
		if c.PerSample() {
			grows += f.Categories[c]
		}
	}
	percent := math.Ceil(100 * float64(f.Short+more) / float64(grows))
	if percent >= 100 {
		return
	}
	f.WouldFit = append(f.WouldFit, Change{
		Text:   fmt.Sprintf("a batch %d%% smaller", int(percent)),
		Saving: int64(float64(grows) * percent / 100), Basis: Estimated,
	})
}
