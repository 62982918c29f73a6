package replay

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// start is what was before the first event.
type start struct {
	state trace.State
	doubt string // why the state is not to be trusted, "" when it is
}

// startOf returns the state before the first event of a device: the writer's word,
// or what undoing the events gives.
func startOf(t *trace.Trace, d *trace.Device) start {
	if d.Base != nil {
		return start{state: *d.Base}
	}
	state, problems := trace.Rewind(t, d)
	s := start{state: state}
	if problems.Count > 0 {
		s.doubt = fmt.Sprintf("the file contradicts itself in %s, as when something was taken out of it: %s",
			quantity.Plural(problems.Count, "place"), problems.First[0].Reason)
	}
	return s
}
