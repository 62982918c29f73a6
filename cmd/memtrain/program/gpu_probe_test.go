package program

import (
	"net/http"
	"path/filepath"
	"slices"
	"testing"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestAChangeFromOutsideHoldsOnAGPUFromTheNextStepOn changes settings of a run
// on the tests' GPU, which is given steps ahead of those it has done, and looks
// in the run's own events for the step that began next.
func TestAChangeFromOutsideHoldsOnAGPUFromTheNextStepOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.pickle")
	w := startWatchedOn(t, gpus(t), append(slices.Clone(small), "--device", "cuda:0", "--snapshot", path)...)
	w.until(2)
	var changes []trace.Change
	for _, set := range []string{`{"checkpoint":"block"}`, `{"amp":"bf16"}`} {
		var answer protocol.Settings
		w.ask(http.MethodPost, "/v1/settings?wait=60s", `{"set":`+set+`}`, &answer)
		made := answer.Changes[len(answer.Changes)-1]
		if made.State != trace.Applied {
			t.Fatalf("%s is %v: %s", set, made.State, made.Reason)
		}
		changes = append(changes, made)
		w.until(made.Step + 2)
	}
	steps := w.end()
	begun := beginnings(t, path)
	for _, c := range changes {
		next := int64(slices.IndexFunc(begun, func(at int64) bool { return at > c.Time }) + 1)
		if next == 0 || c.Step < next || c.Step > next+1 {
			t.Errorf("%s holds from step %d on; after the request, step %d was the next to begin", c.Key, c.Step, next)
		}
		for _, o := range steps {
			if got, want := o.Settings[c.Key] == c.To, o.Step >= c.Step; got != want {
				t.Errorf("step %d: %s=%s holds: %v; it is said to hold from step %d on", o.Step, c.Key, c.To, got, c.Step)
			}
		}
		if before, after := steps[c.Step-2], steps[c.Step]; before.PeakAllocated == after.PeakAllocated {
			t.Errorf("%s=%s has not moved the peak of %d bytes", c.Key, c.To, after.PeakAllocated)
		}
	}
}

// beginnings returns when the steps of a run began, microseconds since the
// epoch, from its snapshot.
func beginnings(t *testing.T, path string) (begun []int64) {
	t.Helper()
	d := &written(t, path).Devices[0]
	for i := range d.Events.Len() {
		if e := d.Events.At(i); e.Kind == trace.StepBegin {
			if begun = append(begun, e.Time); e.Size != int64(len(begun)) {
				t.Fatalf("step %d begins behind %d others", e.Size, len(begun)-1)
			}
		}
	}
	return begun
}
