package attach

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestRanksOfOneJobAreOneChoice(t *testing.T) {
	one := func(pid int, rank *trace.Rank, problem error) Process {
		p := Process{PID: pid, Socket: "/" + string(rune('a'+pid)), User: "ada", Command: "train", Problem: problem}
		if problem == nil {
			p.Info = &protocol.Info{Rank: rank}
		}
		return p
	}
	rank := func(job string, rank, world int) *trace.Rank { return &trace.Rank{Job: job, Rank: rank, World: world} }
	silent := &SilentError{}
	tests := map[string]struct {
		all  []Process
		want []int
	}{
		"processes that are alone":       {[]Process{one(1, nil, nil), one(2, nil, nil)}, []int{1, 2}},
		"one job":                        {[]Process{one(1, rank("a", 1, 2), nil), one(2, rank("a", 0, 2), nil)}, []int{1}},
		"two jobs and one that is none":  {[]Process{one(1, rank("a", 1, 2), nil), one(2, nil, nil), one(3, rank("b", 0, 2), nil), one(4, rank("a", 0, 2), nil), one(5, rank("b", 1, 2), nil)}, []int{1, 2, 3}},
		"a rank that does not answer":    {[]Process{one(1, nil, silent), one(2, rank("a", 0, 2), nil), one(3, nil, nil)}, []int{2, 3}},
		"a process that does not answer": {[]Process{one(1, nil, silent), one(2, nil, nil)}, []int{1, 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, p := range Choices(test.all) {
				got = append(got, p.PID)
			}
			equal.Values(t, "the result", test.want, got)
		})
	}
}
