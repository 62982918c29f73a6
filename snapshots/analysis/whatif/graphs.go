package whatif

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// GraphChange is the same program with its CUDA graphs captured otherwise. The
// zero value changes nothing.
type GraphChange struct {
	OnePool  []trace.Pool // these pools are one
	From, To int          // what events [From, To) allocate in pool Of is left out
	Of       trace.Pool
}

// Pool returns the pool that serves what a pool of the recording served.
func (c *GraphChange) Pool(id trace.Pool) trace.Pool {
	if slices.Contains(c.OnePool, id) {
		return c.OnePool[0]
	}
	return id
}

// Omits reports whether an event's allocation in a pool is left out.
func (c *GraphChange) Omits(event int, id trace.Pool) bool {
	return event >= c.From && event < c.To && id == c.Of
}

// Saved returns how many bytes less the program has reserved once its graphs are
// captured, with the change of them with that number. The recording then had
// reserved so many bytes; it is false where a replay without a change has not.
func (a *Answer) Saved(change int, reserved int64) (bytes int64, known bool) {
	if a == nil || change >= len(a.Graphs) || a.Recorded.WhyNot != "" || a.Graphs[change].Ends || a.Again.Captured != reserved {
		return 0, false
	}
	return reserved - a.Graphs[change].Captured, true
}
