package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/snapshots/trace"
)

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
