package tui

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestBothLedgersAreOnOneScreen shows a program that says what it has of the
// machine's memory.
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
	told.Live = &live
	for name, test := range map[string]struct {
		w, h  int
		lines []string
	}{
		"small": {80, 24, []string{"On the host", "= 900.0 MiB of its control group, 224.0 MiB left", "native heap 250.0 MiB · other anonymous 190.0 MiB · worker processes 100.0"}},
		"large": {200, 60, []string{"224.0 MiB left of its control group · looking took 12.0 ms", "native heap           250.0 MiB", "unexplained             1.0 MiB", "= in all              900.0 MiB"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, test.w, test.h, Options{Device: -1}, fileOf("run.mtr", &told))
			d.press("$")
			d.wants(append(test.lines, "parameters")...)
		})
	}
}
