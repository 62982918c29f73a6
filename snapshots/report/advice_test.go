package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tracetest"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/trace"

	"github.com/google/go-cmp/cmp"
)

// TestDevicesHaveTheirOwnAdvice has two devices whose workspaces and whose allocators
// could be smaller: the second one's are half of its peak, and little of the first
// one's.
func TestDevicesHaveTheirOwnAdvice(t *testing.T) {
	const blas = "frame blas \"??\" 0 \"at::cuda::getCurrentCUDABlasHandle()\"\nframe main \"/home/me/train.py\" 10 \"main\"\nstack workspace blas main\nstack main main\n"
	device := func(n int, workspace, rest int64) string {
		return fmt.Sprintf("device %d\nalloc 0x10000000 %d stack=workspace\nalloc 0x400000000 %d stack=main\n", n, workspace, rest)
	}
	tr := tracetest.Parse(t, blas+device(0, 72<<20, 1024<<20)+device(1, 136<<20, 136<<20))
	tr.Info.Path = "two.pickle"
	r := FileAdvice(tr)
	for d, saved := range []int64{100 << 20, 20 << 20} {
		r.AddAllocator(d, &whatif.Answer{
			Again: &whatif.Run{PeakReserved: 200 << 20}, Runs: []whatif.Run{{Settings: fmt.Sprintf("max_split_size_mb:%d", 100+d), PeakReserved: 200<<20 - saved}},
			Recorded: whatif.Recorded{Refused: int64(d) << 30, Capacity: int64(d) << 29},
		})
	}
	page := pageOf(t, r, 400)
	var got []string
	for line := range strings.Lines(page) {
		if text, _, ok := strings.Cut(strings.TrimSpace(line), ": under"); ok {
			_, text, _ = strings.Cut(line, "--alloc-conf SETTINGS. ")
			got = append(got, strings.TrimSpace(text))
		} else if text, _, _ = strings.Cut(text, ":4096:2: "); text != "" {
			got = append(got, strings.Join(strings.Fields(text), " "))
		}
	}
	want := []string{
		"two.pickle: 2 devices",
		"device 0: the peak is 1.1 GiB", "-64.0 MiB -6% CUBLAS_WORKSPACE_CONFIG=",
		"How much memory the device has is not recorded, so a run has as much as it needs.",
		"max_split_size_mb:100 -100.0 MiB -50% reserved",
		"device 1: the peak is 272.0 MiB", "-128.0 MiB -47% CUBLAS_WORKSPACE_CONFIG=",
		"The driver refused 1.0 GiB, and gave 512.0 MiB at most: a run gets no more than that.",
		"max_split_size_mb:101 -20.0 MiB -10% reserved",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestShardingIsArithmeticOnWhatARankHolds(t *testing.T) {
	held := func(parameters, gradients, optimizer int64) *trace.Step {
		return &trace.Step{AtPeak: []trace.Amount{
			{Name: "parameter", Bytes: parameters}, {Name: "gradient", Bytes: gradients}, {Name: "optimizer", Bytes: optimizer}, {Name: "activation", Bytes: 999},
		}}
	}
	for name, test := range map[string]struct {
		step  *trace.Step
		ranks int
		want  map[string]int64
	}{
		"each stage has those before it":         {held(1000, 1000, 2000), 4, map[string]int64{"optimizer": -1500, "gradients": -2250, "parameters": -3000}},
		"the last part of an odd number is more": {held(10, 0, 21), 2, map[string]int64{"optimizer": -10, "parameters": -15}},
		"one process has none to divide with":    {held(1000, 1000, 2000), 1, nil},
		"a state that may be divided already":    {held(1000, 1000, 1000), 2, nil},
		"a step that was not measured":           {&trace.Step{}, 8, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Advice{PeakAllocated: 5000}
			r.AddSharding(test.step, test.ranks)
			var got map[string]int64
			for i := range r.Sharding {
				if got == nil {
					got = make(map[string]int64)
				}
				s := &r.Sharding[i]
				got[s.Change["shard"]] = s.Predicted.PeakAllocated
				if !strings.Contains(s.Why, "arithmetic") || s.Ranks != test.ranks {
					t.Errorf("%+v", s)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
