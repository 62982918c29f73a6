package attach

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"memtop/probe/protocol"
	"memtop/snapshots/trace"
)

// rankOf returns a process that says which rank it is.
func rankOf(pid int, user, job string, rank, world int, started int64) Process {
	return Process{PID: pid, User: user, Info: &protocol.Info{Started: started, Rank: &trace.Rank{Job: job, Rank: rank, World: world}}}
}

func TestRanksOfOneJobAreFound(t *testing.T) {
	all := []Process{
		{PID: 1, Info: &protocol.Info{}},
		{PID: 2, Problem: &NoProbeError{}},
		rankOf(3, "ada", "a", 1, 2, 100),
		rankOf(4, "ada", "a", 0, 2, 101),
		rankOf(5, "ada", "b", 1, 2, 100),
		rankOf(6, "bob", "a", 0, 2, 100),
		rankOf(7, "ada", "a", 0, 4, 100),
		rankOf(8, "ada", "", 0, 2, 100),
		rankOf(9, "ada", "a", 0, 2, 900),
		rankOf(10, "ada", "alone", 0, 1, 100),
	}
	tests := map[string]struct {
		pid  int
		want []int
	}{
		"by rank, without other jobs, users and sizes":    {3, []int{4, 3}},
		"the one that is asked for of two of one rank":    {9, []int{9, 3}},
		"what is no rank is alone":                        {1, nil},
		"what does not answer is alone":                   {2, nil},
		"a job without a name cannot be told from others": {8, nil},
		"a job of one is alone":                           {10, nil},
		"a process that is not there":                     {11, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, p := range JobOf(all, test.pid) {
				got = append(got, p.PID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
