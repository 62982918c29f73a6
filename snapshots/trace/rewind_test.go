package trace_test

import (
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/trace"
)

// stateText returns a state's lines of the text form.
func stateText(t testing.TB, tr *trace.Trace, state trace.State) string {
	t.Helper()
	only := trace.Trace{Tables: tr.Tables, Devices: []trace.Device{{Final: state}}}
	_, lines, _ := strings.Cut(tracetest.Text(t, &only), "device 0\n")
	return lines
}

func TestRewind(t *testing.T) {
	for name, test := range map[string]struct {
		trace    string
		base     string
		problems []string
	}{
		"a freed block is rounded as the settings say": {
			trace: `
settings
setting "roundup_power2_divisions" 4
device 0
free_requested 0x1000000 5000000
free_completed 0x1000000 5000000
segment 0x1000000 20971520 type="large"
  block 0x1000000 20971520 inactive`,
			base: `
segment 0x1000000 20971520 allocated=5242880 active=5242880 requested=5000000 type="large"
  block 0x1000000 5242880 active_allocated requested=5000000
  block 0x1500000 15728640 inactive requested=0 stack=-
`,
		},
		"a block that is never cut comes back whole": {
			trace: `
settings
setting "max_split_size" 20971520
device 0
free_requested 0x1000000 30000000
free_completed 0x1000000 30000000
segment 0x1000000 41943040 type="large"
  block 0x1000000 41943040 inactive`,
			base: `
segment 0x1000000 41943040 allocated=41943040 active=41943040 requested=30000000 type="large"
  block 0x1000000 41943040 active_allocated requested=30000000
`,
		},
		"a freed segment comes back with its type, and the gap behind a large block belongs to it": {
			trace: `
device 0
free 0x1000000 12000000
segment_free 0x1000000 12582912
segment 0x9000000 2097152 type="small"
  block 0x9000000 2097152 inactive
segment 0xa000000 20971520 type="large"
  block 0xa000000 20971520 inactive`,
			base: `
segment 0x1000000 12582912 device=0 allocated=12582912 active=12582912 requested=12000000 stream=0x0 type="large" expandable=false
  block 0x1000000 12582912 active_allocated requested=12000000
segment 0x9000000 2097152 allocated=0 active=0 requested=0 type="small"
  block 0x9000000 2097152 inactive requested=0 stack=-
segment 0xa000000 20971520 allocated=0 active=0 requested=0 type="large"
  block 0xa000000 20971520 inactive requested=0 stack=-
`,
		},

		"what cannot be undone is listed, newest first": {
			trace: `
device 3
alloc 0x2000000 512
free_requested 0x3000000 512
free_completed 0x4000000 512
segment_alloc 0x5000000 2097152
segment_map 0x5000000 2097152
segment_free 0x1000000 2097152
segment_unmap 0x1000000 2097152
free_completed 0x1000000 512
segment 0x1000000 2097152
  block 0x1000000 512 active_allocated requested=512
  block 0x1000200 2096640 inactive`,
			base: `
segment 0x1000000 2097152 allocated=512 active=512 requested=512
  block 0x1000000 512 active_allocated requested=512
  block 0x1000200 2096640 inactive requested=0 stack=-
`,
			problems: []string{
				"device 3, event 7: free_completed at 0x1000000, which is live afterwards",
				"device 3, event 6: segment_unmap of 2097152 bytes at 0x1000000, where there is a segment afterwards",
				"device 3, event 5: segment_free of 2097152 bytes at 0x1000000, where there is a segment afterwards",
				"device 3, event 4: segment_map of 2097152 bytes at 0x5000000, which are not all mapped afterwards",
				"device 3, event 3: segment_alloc of 2097152 bytes at 0x5000000, where there is no segment afterwards",
				"device 3, event 2: free_completed at 0x4000000, where there is no segment",
				"device 3, event 1: free_requested at 0x3000000, which is not live afterwards",
				"device 3, event 0: alloc of 512 bytes at 0x2000000, which is not live afterwards",
			},
		},
		"what contradicts the events is listed, and undone all the same": {
			trace: `
device 0
segment_alloc 0x1000000 4194304
alloc 0x1000000 512
free_requested 0x1000400 512
segment 0x1000000 2097152
  block 0x1000000 1024 active_allocated requested=900
  block 0x1000400 512 active_allocated requested=512
  block 0x1000600 2095616 inactive`,
			problems: []string{
				"device 0, event 2: free_requested at 0x1000400, which is still allocated afterwards",
				"device 0, event 1: alloc of 512 bytes at 0x1000000, which later has 900",
				"device 0, event 0: segment_alloc of 4194304 bytes at 0x1000000, which has 2097152 afterwards",
				"device 0, event 0: segment_alloc of 4194304 bytes at 0x1000000, where there are live blocks already",
			},
		},
		"sizes and addresses at the ends of their range do no harm": {
			trace: `
device 0
segment_free 0xffffffffffffff00 4096
segment_unmap 0x0 9223372036854775807
segment_map 0x0 -1
free_completed 0x1000000 9223372036854775807
free 0x1000200 -5
segment_alloc 0xffffffffffffffff 1
segment 0x1000000 2097152
  block 0x1000000 2097152 inactive
segment 0xfffffffffffffff0 4096`,
			base: `
segment 0x1000000 2097152 allocated=512 active=1024 requested=9223372036854775802
  block 0x1000000 512 active_pending_free requested=9223372036854775807
  block 0x1000200 512 active_allocated requested=-5
  block 0x1000400 2096128 inactive requested=0 stack=-
`,
			problems: []string{
				"device 0, event 6: segment 0xfffffffffffffff0 of 4096 bytes overlaps another or is empty",
				"device 0, event 5: segment_alloc of 1 bytes at 0xffffffffffffffff, where there is no segment afterwards",
				"device 0, event 2: segment_map of -1 bytes at 0x0, which are not all mapped afterwards",
				"device 0, event 1: segment_unmap of 9223372036854775807 bytes at 0x0, where there is a segment afterwards",
				"device 0, event 0: segment_free of 4096 bytes at 0xffffffffffffff00, where there is a segment afterwards",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tracetest.Parse(t, test.trace)
			base, problems := trace.Rewind(tr, &tr.Devices[0])
			equal.Values(t, "base state", strings.TrimPrefix(test.base, "\n"), stateText(t, tr, base))
			equal.Values(t, "problems", test.problems, tracetest.Reasons(problems))
		})
	}
}

func TestProblemsStayFew(t *testing.T) {
	var log trace.EventLog
	for range 10_000 {
		log.Append(trace.Event{Kind: trace.Alloc, Addr: 1})
	}
	tables := trace.NewInterner().View()
	tr := &trace.Trace{Tables: &tables, Devices: []trace.Device{{Events: log.Events()}}}
	_, problems := trace.Rewind(tr, &tr.Devices[0])
	if problems.Count != 10_000 || len(problems.First) != trace.ProblemsKept {
		t.Errorf("%d problems counted and %d kept, want 10000 and %d", problems.Count, len(problems.First), trace.ProblemsKept)
	}
}
