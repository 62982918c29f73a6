package whatif

import (
	"cmp"
	"slices"
)

// Change is another setting under which the allocator would serve a failed
// request.
type Change struct {
	Settings string `json:"change"`
	Torch    string `json:"torch,omitempty"` // the release of PyTorch, "" for the recording's
	// Saving is how many bytes less the process reserves, with the request
	// served, than it would have needed under the recorded settings. It is 0 if
	// only more memory than the process had serves the request.
	Saving int64 `json:"saving_bytes"`
	// Certain says that the settings alone make the difference: under the
	// recorded settings, the request fails again in a replay that requests anew
	// the memory held before recording. If false, memory that was cached or split
	// before recording plays a part.
	Certain bool `json:"certain"`
}

// Changes returns the settings of the answer that would have served the failed
// request, the largest saving first.
func (a *Answer) Changes() []Change {
	var list []Change
	failed := a.Recorded.OOM
	for i := range a.Runs {
		if r := &a.Runs[i]; failed != nil && r.Fits {
			list = append(list, Change{r.Settings, r.Torch, max(failed.Reserved+failed.Segment-r.Reserved, 0), !a.Again.Fits})
		}
	}
	slices.SortStableFunc(list, func(x, y Change) int { return cmp.Compare(y.Saving, x.Saving) })
	return list
}
