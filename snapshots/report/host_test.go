package report

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
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
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
