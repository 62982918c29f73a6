package whatif

import (
	"cmp"
	"context"
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// Change is another setting under which a request that failed is met.
type Change struct {
	Settings string `json:"change"`
	// Saving is how many bytes less the process has reserved with the request met
	// than it would have needed under the recorded settings; 0 where more memory than
	// it had is what met it.
	Saving int64 `json:"saving_bytes"`
	// Certain says that it is the settings' doing: under the recorded ones the
	// request fails again when what was held before recording is asked for anew. If
	// not, what was cached or cut into pieces before recording has a part in it.
	Certain bool `json:"certain"`
}

// Changes returns the settings of the answer that would have met the request that
// ran out of memory, those that save most first.
func (a *Answer) Changes() []Change {
	var list []Change
	failed := a.Recorded.OOM
	for i := range a.Runs {
		if r := &a.Runs[i]; failed != nil && r.Fits {
			list = append(list, Change{r.Settings, max(failed.Reserved+failed.Segment-r.Reserved, 0), !a.Again.Fits})
		}
	}
	slices.SortStableFunc(list, func(x, y Change) int { return cmp.Compare(y.Saving, x.Saving) })
	return list
}

// WouldFit returns which of the useful settings would have met the request of an
// out-of-memory event, those that save most first, and the answer that this follows
// from: it says how far the replay can be trusted.
func (ask Ask) WouldFit(ctx context.Context, t *trace.Trace, d *trace.Device, event int) ([]Change, *Answer, error) {
	a, err := ask(ctx, Question{Trace: t, Device: d, Event: event})
	if err != nil {
		return nil, nil, err
	}
	return a.Changes(), a, nil
}
