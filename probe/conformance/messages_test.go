package conformance

import "testing"

// TestAStepComesAfterTheEventOfItsEnd has step 7 of a device be the last that came.
func TestAStepComesAfterTheEventOfItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		batches int
		ended   int64
		want    Outcome
	}{
		"the next step ends, and its message is to come": {1, 8, Passed},
		"the step ends whose message has come":           {1, 7, Broken},
		"a step before it ends":                          {1, 6, Broken},
		"steps of before the stream end":                 {0, 7, NotSeen},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatcher(newLedger(), asking{})
			w.counters, w.lastStep[0] = make([]batchEnd, c.batches), 7
			w.stepEnds(0, c.ended)
			if got := w.marks["message.step-after"].outcome; got != c.want {
				t.Errorf("the rule is %v, want %v", got, c.want)
			}
		})
	}
}
