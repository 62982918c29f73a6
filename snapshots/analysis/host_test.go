package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestTensorsOfAProcessorAreJudgedByTheirSites has what a real program had after some
// steps, in KiB: it fills a cache of 24 tensors, of which a draw now and then is new.
func TestTensorsOfAProcessorAreJudgedByTheirSites(t *testing.T) {
	looks := [][4]int64{ // step, anonymous, of malloc, of tensors
		{1, 399368, 151701, 2513},
		{2, 399640, 151746, 2513},
		{10, 399912, 153848, 2396},
		{16, 399980, 153844, 4444},
		{22, 400260, 155917, 6609},
		{32, 400944, 157976, 8657},
		{42, 405176, 162090, 12636},
		{47, 405268, 162088, 12753},
		{56, 407356, 164138, 14801},
		{65, 411464, 168229, 16732},
		{77, 413516, 170269, 16732},
		{94, 415564, 172317, 16732},
		{109, 417612, 174365, 16732},
		{128, 419660, 176431, 16732},
		{145, 419660, 176502, 16732},
		{164, 421716, 176502, 16732},
		{178, 425828, 180511, 16732},
		{192, 425888, 182602, 33116},
		{209, 425888, 182602, 33116},
		{223, 427952, 182605, 33116},
	}
	for name, test := range map[string]struct {
		allocator string
		from      int // the first step whose tensors were seen
		device    int
		want      int
	}{
		"on a processor":            {"none", 1, 0, 0},
		"on a processor, seen late": {"none", 200, 0, 1},
		"beside another device":     {"native", 1, trace.HostDevice, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tracetest.Parse(t, fmt.Sprintf("settings\nsetting \"allocator\" %q\ndevice 0\nstep_end - %d @1\nstep_end - 223 @2\n", test.allocator, test.from))
			tr.Live = &trace.Live{}
			for _, l := range looks {
				h := &trace.Host{Step: l[0], Anonymous: l[1] << 10, Malloc: l[2] << 10, Tensors: l[3] << 10}
				tr.Live.Gauges = append(tr.Live.Gauges, trace.Gauge{Device: test.device, Total: 1 << 40, Host: h})
			}
			x := NewIndex(tr, tr.Device(0))
			if got := x.HostGrowth(); len(got) != 1 {
				t.Fatalf("%d kinds grow: %v", len(got), got)
			}
			found := 0
			for _, f := range x.Findings() {
				if f.Kind == HostGrowthFinding {
					found++
				}
			}
			if found != test.want {
				t.Errorf("%d findings, want %d", found, test.want)
			}
		})
	}
}

// TestABoxSaysHowMuchOfTheMachinesMemoryWasLeft has one whose program noted that.
func TestABoxSaysHowMuchOfTheMachinesMemoryWasLeft(t *testing.T) {
	tr := tracetest.Parse(t, "device 0\n")
	tr.Live = &trace.Live{Ended: &trace.Ending{}, Gauges: []trace.Gauge{{Device: trace.HostDevice, Total: 8 << 30, Used: 6 << 30, Process: 5 << 30}}}
	if got := NewIndex(tr, tr.Device(0)).Findings()[0].Evidence; !strings.Contains(got, "had 5.0 GiB of host memory, and 2.0 GiB of the 8.0 GiB of the machine were left") {
		t.Error(got)
	}
}
