package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/onfile"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestTheHostsPartHasWhatEndsTheProgramAndWhen has a program of 200 steps with a MiB more
// of C's heap after each, in a group with a limit.
func TestTheHostsPartHasWhatEndsTheProgramAndWhen(t *testing.T) {
	const mib = 1 << 20
	run := liveRun(t)
	for step := int64(1); step <= 200; step += 10 {
		grown := (100 + step) * mib
		run.Live.Gauges = append(run.Live.Gauges, trace.Gauge{
			Device: trace.HostDevice, Total: 4096 * mib, Used: 1000 * mib, Limit: 1000 * mib, LimitUsed: 400 * mib,
			Host: &trace.Host{
				Step: step, Anonymous: grown, Malloc: grown, Shared: 10 * mib, Group: grown + 30*mib, GroupAnonymous: grown, GroupShared: 10 * mib, GroupKernel: 20 * mib,
			},
		})
	}
	text, err := json.MarshalIndent(NewLive(run).Host, "", " ")
	fatal.If(t, err)
	const want = `{
 "time_us": 0,
 "whose": "its control group",
 "bytes": 336592896,
 "resident_bytes": 326107136,
 "shared_bytes": 10485760,
 "limit_bytes": 1048576000,
 "limit": "cgroup",
 "limit_used_bytes": 419430400,
 "growth_bytes_per_step": 1048576,
 "steps_to_limit": 600,
 "ledger": [
  {
   "name": "native",
   "bytes": 305135616
  },
  {
   "name": "shared memory",
   "bytes": 10485760
  },
  {
   "name": "kernel",
   "bytes": 20971520
  }
 ],
 "leaks": [
  {
   "site": "native",
   "name": "native",
   "bytes": 305135616,
   "growth_bytes_per_step": 1048576,
   "growth_in_all_bytes_per_step": 1048576,
   "steps_observed": 170,
   "reason": "It rose from each eighth of the last 170 steps to the next, by 1.0 MiB a step, and gives nothing back."
  }
 ],
 "cost_ns": 0
}`
	equal.Values(t, "the result", want, string(text))
}

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

// TestAReportSaysTheSameOfAnIndexThatWasNotPrepared also makes an index of lifetimes that were
// not replayed while the file was read: those are given away once.
func TestAReportSaysTheSameOfAnIndexThatWasNotPrepared(t *testing.T) {
	for _, path := range pytorchtest.SharedPickles(t) {
		tr := onfile.Trace(t, path)
		prepared, err := json.Marshal(New(tr))
		fatal.If(t, err)
		indexes := make([]*analysis.Index, len(tr.Devices))
		for i := range tr.Devices {
			indexes[i] = analysis.NewIndex(tr, &tr.Devices[i])
		}
		plain, err := json.Marshal(Of(tr, indexes))
		fatal.If(t, err)
		equal.Values(t, path, string(plain), string(prepared))
	}
}
