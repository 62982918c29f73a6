package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestOnlyWhereCallsCouldBeSeenIsItSaidHow has a program of another kind than PyTorch,
// one whose calls are not seen, and one whose calls are.
func TestOnlyWhereCallsCouldBeSeenIsItSaidHow(t *testing.T) {
	for name, test := range map[string]struct {
		said  *trace.Card
		wants bool
	}{
		"no program of PyTorch": {nil, false},
		"calls are not seen":    {&trace.Card{}, true},
		"calls are seen":        {&trace.Card{Watched: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			run := liveRun(t)
			run.Live.Gauges[0].Card = test.said
			text := pageOf(t, NewLive(run), 100)
			if said := strings.Contains(text, "--driver-calls"); said != test.wants || !strings.Contains(text, "Who has the device's memory") {
				t.Errorf("want a way: %v, got\n%s", test.wants, text)
			}
		})
	}
}

// TestAFileSaysWhoHadTheDevice has the same ledger in the report of a file as of the
// program.
func TestAFileSaysWhoHadTheDevice(t *testing.T) {
	run := liveRun(t)
	run.Live.Gauges[0].Card = &trace.Card{Before: 100 << 10}
	want := NewLive(run).Card
	r := New(run)
	if diff := cmp.Diff(want, r.Devices[0].Card, cmp.AllowUnexported(Card{})); diff != "" || want == nil {
		t.Errorf("(-live +file):\n%s", diff)
	}
	text := pageOf(t, r, 100)
	wantIn(t, text, "  Who has the device's memory, 1.0 MiB\n", "  PyTorch                      256.5 KiB  25%  ")
}

// TestAServersCacheAndShareAreSaid has vLLM on a device, where 100 MiB of 1 GiB are no
// part of what it may use, and a part of its memory sleeps.
func TestAServersCacheAndShareAreSaid(t *testing.T) {
	const mib = 1 << 20
	run := liveRun(t)
	g := &run.Live.Gauges[0]
	g.Used, g.Process, g.Others = 600*mib, 560*mib, 40*mib
	g.Card = &trace.Card{Watched: true, Reserved: 262656, Before: 100 * mib, Cache: &trace.CacheUse{Server: trace.VLLM, Used: 812, Size: 2047, Unit: "blocks"}, Taken: []trace.Taken{
		{Library: "libc10_cuda.so", Kind: trace.TakenDevice, Bytes: 262656 - 65536},
		{Library: "custom.so", Kind: trace.TakenDevice, Bytes: 500*mib - (262656 - 65536), Number: 1},
	}}
	r := NewLive(run)
	if c := r.Card; c.Cache == nil || c.Cache.Used != 812 || c.ShareMost == nil || *c.ShareMost != 0.9 {
		t.Fatalf("the ledger is %+v", c)
	}
	text := pageOf(t, r, 200)
	wantIn(t, text,
		"  PyTorch                       64.0 KiB asleep: the driver has it back\n",
		"Cache of keys and values: 39 % in use, 812 of 2047 blocks\n",
		"gpu_memory_utilization can be 0.90 at most: 1.0 GiB less CUDA's context 60.0 MiB, other processes 40.0 MiB.\n",
	)
}
