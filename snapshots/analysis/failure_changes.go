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
	f.releasePins(x)
	f.smallerBatch()
	f.follow(x.savings(scene))
}

// mostChanges is how many changes to the program's memory are listed.
const mostChanges = 4

// follow takes each saving that alone is enough, the smallest first.
func (f *Failure) follow(found []savings.Saving) {
	slices.SortStableFunc(found, func(a, b savings.Saving) int { return cmp.Compare(a.Saved, b.Saved) })
	for _, a := range found {
		if a.Saved < f.Short || len(f.WouldFit) == mostChanges {
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

// smallerBatch finds how many fewer samples at once would make room. Fewer
// samples shrink the memory that grows with them, and the request.
func (f *Failure) smallerBatch() {
	grows := f.Requested
	for _, c := range trace.Categories {
		if c.PerSample() {
			grows += f.Categories[c]
		}
	}
	percent := math.Ceil(100 * float64(f.Short) / float64(grows))
	if percent >= 100 {
		return
	}
	f.WouldFit = append(f.WouldFit, Change{
		Text:   fmt.Sprintf("a batch %d%% smaller", int(percent)),
		Saving: int64(float64(grows) * percent / 100), Basis: Estimated,
	})
}
