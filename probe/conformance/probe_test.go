package conformance

import (
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
)

var quick = Options{For: 100 * time.Millisecond}

// train has a program allocate and end steps until the test ends, two of them before it
// returns: some rules are about steps that were.
func train(t *testing.T, program *probetest.Program, served *probe.Probe) {
	t.Helper()
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-stopped; _ = served.Close() })
	step := func() {
		program.Run(10)
		program.Finish(served)
	}
	step()
	step()
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				step()
			case <-stop:
				return
			}
		}
	}()
}

func TestOurProbeKeepsThePage(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]mutant{
		"that takes changes": {}, "that is read-only": {o: probe.Options{ReadOnly: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := Examine(t.Context(), m.behind(t), quick)
			fatal.If(t, err)
			if list := broken(r); len(list) > 0 || r.Passed < 50 {
				t.Errorf("%d rules passed, broken are %v", r.Passed, list)
			}
		})
	}
}
