package probe

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// TestGaugesAreLookedAtAnew asks twice: a look of a minute ago is not shown again.
func TestGaugesAreLookedAtAnew(t *testing.T) {
	p := probetest.New()
	var looks atomic.Int64
	probe := listening(t, p, Options{Gauge: func() []trace.Gauge { return []trace.Gauge{{Used: looks.Add(1)}} }})
	for want := range int64(3) {
		if got := probe.info().Gauges; len(got) != 1 || got[0].Used != want+1 {
			t.Errorf("look %d gives %+v", want+1, got)
		}
		probe.gauges.mu.Lock()
		probe.gauges.at = probe.gauges.at.Add(-time.Minute)
		probe.gauges.mu.Unlock()
	}
}

func TestWhatAProgramSaysOfItself(t *testing.T) {
	p := probetest.New()
	p.Run(10)
	gauge := trace.Gauge{Device: 0, Time: 1, Total: 100, Used: 50, Process: -1}
	rank := trace.Rank{Job: "4711.0", Rank: 1, World: 4, Local: 1, Launcher: "srun", Together: true}
	probe := listening(t, p, Options{
		Control: p, Rank: &rank, Program: "train", Writer: "a made program", Gauge: func() []trace.Gauge { return []trace.Gauge{gauge} },
	})
	p.Finish(probe)
	newClient(t, probe, "w").post(t, "amp", "bf16")
	got := probe.info()
	if got.Started <= 0 || got.PID == 0 || got.User == "" {
		t.Errorf("started %d, process %d, user %q", got.Started, got.PID, got.User)
	}
	got.Started, got.PID, got.User, got.Host, got.ProbeNS = 0, 0, "", "", 0
	requested, failed := int64(10*probetest.Block), int64(0)
	loss := wire.Float(2)
	want := protocol.Info{
		Version: 1, Capabilities: []string{"snapshot", "control", "gauges"}, Command: "train",
		Writer: "a made program", Step: 1, Changing: "w", Rank: &rank,
		Devices: []protocol.DeviceInfo{{Allocated: requested, Requested: &requested, Reserved: probetest.Slots * probetest.Block, OutOfMemory: &failed}},
		LastStep: &protocol.LastStep{
			PeakAllocated: probetest.Slots * probetest.Block, PeakReserved: probetest.Slots * probetest.Block,
			AtPeak:   []trace.Amount{{Name: "activation", Bytes: probetest.Slots * probetest.Block}},
			Duration: int64(time.Millisecond), Loss: &loss, Settings: []trace.Value{{Key: "amp", Value: "off"}, {Key: "checkpoint", Value: "none"}},
		},
		Gauges: []trace.Gauge{gauge},
	}
	equal.Values(t, "info", want, got)
}
