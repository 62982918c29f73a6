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

// findChanges says what of the memory itself would have made the request fit.
// What other settings of the allocator would have done is for a replay to say.
func (f *Failure) findChanges(x *Index, scene *savings.Scene) {
	if f.Short <= 0 {
		return
	}
	f.releasePins(x)
	f.smallerBatch()
	f.follow(x.savings(scene))
}

// mostChanges is how many changes are listed of those that memory itself allows.
const mostChanges = 4

// follow takes savings that alone are enough, the least first.
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

// AddSettings puts the settings of the allocator first that would have met the
// request: they cost the program nothing. What a replay is not certain of is left
// out.
func (f *Failure) AddSettings(changes []whatif.Change) {
	var met []Change
	for _, c := range changes {
		if c.Certain {
			met = append(met, Change{Text: "PYTORCH_CUDA_ALLOC_CONF=" + c.Settings, Saving: c.Saving, Basis: Replayed})
		}
	}
	f.WouldFit = append(met, f.WouldFit...)
}

// releasePins frees the little that keeps segments, until enough of them go back.
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

// smallerBatch finds by how much fewer samples at once make room: what grows with
// them shrinks, and so does the request.
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
