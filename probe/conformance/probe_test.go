package conformance

import (
	"path/filepath"
	"testing"
	"time"

	"memtop/probe"
	"memtop/probe/probetest"
)

// quick is an examination that does not wait for what takes seconds by the page.
var quick = Options{For: 1500 * time.Millisecond, Quick: true}

// running starts a made program that allocates, ends steps and has a probe.
func running(t *testing.T, o probe.Options) *probe.Probe {
	t.Helper()
	program := probetest.New()
	program.Epoch = time.Now().UnixMicro()
	o.Dir, o.Control = filepath.Join(t.TempDir(), "probe"), program
	served, err := probe.Listen(t.Context(), o, program)
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-stopped; _ = served.Close() })
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				program.Run(10)
				program.Finish(served)
			case <-stop:
				return
			}
		}
	}()
	return served
}

func examined(t *testing.T, path string, o Options) *Report {
	t.Helper()
	r, err := Examine(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOurProbeKeepsThePage(t *testing.T) {
	t.Parallel()
	served := running(t, probe.Options{})
	r := examined(t, served.Path(), quick)
	for _, rule := range r.Rules {
		if rule.Outcome == Broken {
			t.Errorf("%s is broken: %+v", rule.Name, rule.Findings)
		}
	}
	if r.Passed < 50 {
		t.Errorf("only %d rules passed", r.Passed)
	}
}
