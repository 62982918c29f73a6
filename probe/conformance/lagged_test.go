package conformance

import (
	"testing"
	"time"

	"github.com/memtop/memtop/snapshots/wire"
)

// TestOnlyTheProgramsOwnLatenessBreaksTheRhythm has batches that end too late, and
// readers that were the reason or were not.
func TestOnlyTheProgramsOwnLatenessBreaksTheRhythm(t *testing.T) {
	for name, c := range map[string]struct {
		gaps, late []time.Duration
		want       Outcome
	}{
		"the first batch alone says nothing":                 {nil, nil, NotSeen},
		"a batch each second":                                {[]time.Duration{time.Second, time.Second}, []time.Duration{0, 0}, Passed},
		"the program was late, and its reader was not":       {[]time.Duration{time.Second, 8 * time.Second}, []time.Duration{0, 0}, Broken},
		"the reader was late, and the program waited for it": {[]time.Duration{time.Second, 8 * time.Second}, []time.Duration{0, 4 * time.Second}, Passed},
		"the reader was late, but before":                    {[]time.Duration{9 * time.Second, 8 * time.Second}, []time.Duration{9 * time.Second, 0}, Broken},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatcher(newLedger(), asking{interval: 100 * time.Millisecond})
			end := batchEnd{}
			w.counters = []batchEnd{end}
			for i := range c.gaps {
				end = batchEnd{wire.Counters{Time: end.Time + c.gaps[i].Microseconds()}, end.late + c.late[i]}
				w.counters = append(w.counters, end)
			}
			w.rhythm()
			if got := w.marks["stream.counters"].outcome; got != c.want {
				t.Errorf("the rule is %v, want %v", got, c.want)
			}
		})
	}
}
