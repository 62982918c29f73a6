package attach

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestAFaultLeavesTheLastState has a client follow what is none, on the goroutine
// that follows programs.
func TestAFaultLeavesTheLastState(t *testing.T) {
	c := &Client{changed: make(chan struct{}, 1), ended: make(chan struct{})}
	c.latest.Store(&trace.Trace{Live: &trace.Live{PID: 7, Connected: true}})
	c.all.Go(func() { c.run(t.Context(), &following{}) })
	c.all.Wait()
	<-c.Ended()
	live := c.Trace().Live
	if live.PID != 7 || live.Connected || !strings.HasPrefix(live.Note, "a bug in memtop: ") {
		t.Errorf("the last state is %+v", live)
	}
}

func TestAFaultOfTheGaugesIsTold(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, probe.Options{})
	c := dialling(t, probe.Path(), DialOptions{Gauge: func(Process, []int) ([]trace.Gauge, error) { panic("no driver") }})
	awaiting(t, c, "a notice of the fault", func(now *trace.Trace) bool {
		p.Run(1)
		return strings.Contains(strings.Join(now.Notices, " "), "a bug in memtop: no driver")
	})
}
