package probe

import (
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestTheProbeSaysWhatItCosts(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{})
	p.Run(100_000)
	before, _ := probe.Cost()
	if perEvent := float64(before) / 100_000; perEvent <= 0 || perEvent > 5000 {
		t.Errorf("%.1f ns an event", perEvent)
	}
	p.Finish(probe)
	p.Finish(probe)
	first, _ := probe.steps.read(0)
	second, _ := probe.steps.read(1)
	if first.ProbeNS < before || second.ProbeNS <= 0 || second.ProbeNS > before+int64(time.Second) {
		t.Errorf("the events cost %d ns, the step they are in %d, the one after %d", before, first.ProbeNS, second.ProbeNS)
	}
	after, _ := probe.Cost()
	if sum := first.ProbeNS + second.ProbeNS; after < sum {
		t.Errorf("all cost %d ns and two steps %d", after, sum)
	}
}

func TestEventsOfADeviceThatNobodyNamedAreDropped(t *testing.T) {
	probe := listening(t, probetest.New(), Options{})
	for _, device := range []int{-1, 1, protocol.MaxDevices, 1 << 40} {
		probe.Record(device, trace.Event{})
	}
	if _, dropped := probe.Cost(); dropped != 4 {
		t.Errorf("%d dropped, want 4", dropped)
	}
}

func TestAClosedProbeStillTakesEvents(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{})
	fatal.If(t, probe.Close())
	if p.Recorder != nil {
		t.Error("the program still tells it of events")
	}
	probe.Record(0, trace.Event{})
	probe.Step(trace.Step{})
	fatal.If(t, probe.Close())
}

func TestADriverThatDoesNotAnswerHoldsUpNobody(t *testing.T) {
	stuck := make(chan struct{})
	defer close(stuck)
	var g sharedGauges
	look := func() []trace.Gauge {
		<-stuck
		return nil
	}
	for range 3 {
		if gauges, at := g.read(look); gauges != nil || !at.IsZero() {
			t.Errorf("got %v of %v", gauges, at)
		}
	}
}

func TestGaugesAreLookedAtOnceForAll(t *testing.T) {
	var g sharedGauges
	looks := 0
	for range 100 {
		gauges, _ := g.read(func() []trace.Gauge {
			looks++
			return []trace.Gauge{{Total: 1 << 30}}
		})
		if len(gauges) != 1 || gauges[0].Total != 1<<30 {
			t.Fatalf("got %v", gauges)
		}
	}
	g.wait(time.Minute)
	if looks > 10 {
		t.Errorf("the driver was asked %d times in a moment", looks)
	}
}
