package tui

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestBothLedgersAreOnOneScreen shows a program that says what it has of the
// device's memory and of the machine's.
func TestBothLedgersAreOnOneScreen(t *testing.T) {
	const mib = 1 << 20
	told := *recording()
	live := *told.Live
	live.Gauges = append(slices.Clone(live.Gauges), trace.Gauge{
		Device: trace.HostDevice, Time: live.Gauges[len(live.Gauges)-1].Time, Total: 4096 * mib, Used: 1000 * mib, Limit: 1024 * mib, LimitUsed: 800 * mib,
		Host: &trace.Host{
			Anonymous: 500 * mib, Python: 60 * mib, Malloc: 250 * mib, Group: 900 * mib, GroupAnonymous: 600 * mib, GroupFiles: 280 * mib,
			GroupKernel: 19 * mib, Workers: 2, CostNS: 12_000_000,
		},
	})
	for i := range live.Gauges {
		if g := &live.Gauges[i]; g.Device != trace.HostDevice {
			withCard(g, told.Devices[0].Final.Segments)
		}
	}
	told.Live = &live
	for name, size := range map[string][2]int{"small": {80, 24}, "large": {200, 60}} {
		t.Run(name, func(t *testing.T) {
			d := start(t, size[0], size[1], Options{Color: "never", Device: -1}, fileOf("run.mtr", &told))
			d.press("$")
			golden(t, name, d.screen())
		})
	}
}

// TestOnlyWhereCallsCouldBeSeenTheScreenSaysHow has a device whose other processes are
// named: in a program of PyTorch that is not watched, and in one of another kind.
func TestOnlyWhereCallsCouldBeSeenTheScreenSaysHow(t *testing.T) {
	for name, said := range map[string]*trace.Card{"PyTorch": {}, "another": nil} {
		t.Run(name, func(t *testing.T) {
			told := *recording()
			live := *told.Live
			live.Gauges = slices.Clone(live.Gauges)
			for i := range live.Gauges {
				withCard(&live.Gauges[i], told.Devices[0].Final.Segments)
				live.Gauges[i].Card = said
			}
			told.Live = &live
			d := start(t, 200, 60, Options{Color: "never", Device: -1}, fileOf("run.mtr", &told))
			d.shows("$", "On the device | process 4711")
			if said == nil {
				d.lacks("--driver-calls")
			} else {
				d.wants("memtop run --driver-calls would see which libraries take it")
			}
		})
	}
}

// withCard gives a gauge a ledger of a device whose allocator has segments.
func withCard(g *trace.Gauge, segments []trace.Segment) {
	const mib = 1 << 20
	reserved := int64(0)
	for i := range segments {
		reserved += segments[i].Size
	}
	g.Total, g.Used, g.Process, g.Others = 16<<30, reserved+1000*mib, reserved+700*mib, 260*mib
	g.Users = []trace.User{{PID: 4711, Bytes: 260 * mib, Command: "python server.py"}}
	g.Card = &trace.Card{
		Cache:    &trace.CacheUse{Server: trace.VLLM, Used: 812, Size: 2047, Unit: "blocks"},
		Reserved: reserved, Watched: true, Before: 710 * mib, Communicators: []trace.Communicator{{Name: "0", Ranks: 8, Channels: 2, Connection: 14 * mib}},
		Taken: []trace.Taken{
			{Library: "libc10_cuda.so", Kind: trace.TakenDevice, Bytes: reserved},
			{Library: "libcublasLt.so.13", Kind: trace.TakenDevice, Bytes: 33 * mib, Round: mib, Number: 5},
		},
	}
}
