package analysis

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// UsualTime is the median time, in nanoseconds, of the steps of a trace with the
// device and the settings of one of them.
func UsualTime(t *trace.Trace, as *trace.Step) int64 {
	var times []float64
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Device == as.Device && slices.Equal(s.Settings, as.Settings) {
			times = append(times, float64(s.Duration))
		}
	}
	return int64(median(times))
}
