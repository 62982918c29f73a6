package conformance

import (
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
)

// quick is an examination that does not wait for what takes seconds by the page.
var quick = Options{For: 300 * time.Millisecond, Quick: true}

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

func examined(t *testing.T, path string, o Options) *Report {
	t.Helper()
	r, err := Examine(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keeps reports the rules that are broken.
func keeps(t *testing.T, r *Report) {
	t.Helper()
	for _, rule := range r.Rules {
		if rule.Outcome == Broken {
			t.Errorf("%s is broken: %+v", rule.Name, rule.Findings)
		}
	}
}

func TestOurProbeKeepsThePage(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]mutant{
		"that takes changes": {}, "that is read-only": {o: probe.Options{ReadOnly: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := examined(t, m.running(t), quick)
			keeps(t, r)
			if r.Passed < 50 {
				t.Errorf("only %d rules passed", r.Passed)
			}
		})
	}
}
