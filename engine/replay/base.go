package replay

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// start is the state before the first event.
type start struct {
	state trace.State
	doubt string // why the state may be wrong, "" if it is right
}

// startOf returns the state before the first event of a device: the one that the
// writer recorded, or else the result of undoing the events.
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
