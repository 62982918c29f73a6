package attach

import (
	"slices"
	"strconv"
	"testing"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// member is a process of a job, as Discover finds it.
func member(pid int, job string, rank, world int, change ...func(*Process)) Process {
	p := Process{
		PID: pid, Socket: strconv.Itoa(pid), User: "ada", Command: "train.py",
		Info: &protocol.Info{Host: "node1", Rank: &trace.Rank{Job: job, Rank: rank, World: world, Launcher: "torchrun"}},
	}
	for _, f := range change {
		f(&p)
	}
	return p
}

func TestWhichProcessesAreOneJob(t *testing.T) {
	const minute = 60_000_000
	began := func(at int64) func(*Process) { return func(p *Process) { p.Info.Started = at } }
	of := func(user string) func(*Process) { return func(p *Process) { p.User = user } }
	on := func(host string) func(*Process) { return func(p *Process) { p.Info.Host = host } }
	running := func(command string) func(*Process) { return func(p *Process) { p.Command = command } }
	silent := func(p *Process) { p.Info, p.Problem = nil, &SilentError{} }
	tests := map[string]struct {
		all  []Process // the first is asked about
		want []int
	}{
		"a program that is alone":               {[]Process{member(1, "", 0, 1, func(p *Process) { p.Info.Rank = nil })}, nil},
		"ranks of one job, by rank":             {[]Process{member(1, "a", 1, 2), member(2, "a", 0, 2)}, []int{2, 1}},
		"another job":                           {[]Process{member(1, "a", 0, 2), member(2, "b", 1, 2)}, []int{1}},
		"another world":                         {[]Process{member(1, "a", 0, 2), member(2, "a", 1, 4)}, []int{1}},
		"another user":                          {[]Process{member(1, "a", 0, 2), member(2, "a", 1, 2, of("bob"))}, []int{1}},
		"another machine and command":           {[]Process{member(1, "a", 0, 2), member(2, "a", 1, 2, on("node2"), running("x"))}, []int{1, 2}},
		"two of one name and rank: the closest": {[]Process{member(1, "a", 0, 2), member(2, "a", 1, 2, began(9*minute)), member(3, "a", 1, 2, began(minute)), member(4, "a", 0, 2)}, []int{1, 3}},
		"no name":                               {[]Process{member(1, "", 0, 2), member(2, "", 1, 2, began(minute))}, []int{1, 2}},
		"no name, begun much later":             {[]Process{member(1, "", 0, 2), member(2, "", 1, 2, began(minute+1))}, []int{1}},
		"no name, another command":              {[]Process{member(1, "", 0, 2), member(2, "", 1, 2, running("x"))}, []int{1}},
		"no name, another machine":              {[]Process{member(1, "", 0, 2), member(2, "", 1, 2, on("node2"))}, []int{1}},
		"no name, and two of them side by side": {[]Process{member(1, "", 0, 2), member(2, "", 1, 2), member(3, "", 0, 2), member(4, "", 1, 2)}, []int{1}},
		"a rank that does not answer":           {[]Process{member(1, "a", 0, 2), member(2, "a", 1, 2, silent)}, []int{1, 2}},
		"a silent one of another command":       {[]Process{member(1, "a", 0, 2), member(2, "a", 1, 2, running("x"), silent)}, []int{1}},
		"more silent ones than are missing":     {[]Process{member(1, "a", 0, 2), member(2, "a", 1, 2, silent), member(3, "a", 1, 2, silent)}, []int{1, 2}},
		"a silent one beside a whole job":       {[]Process{member(1, "a", 0, 2), member(2, "a", 1, 2), member(3, "", 0, 2, silent)}, []int{1, 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := pidsIn(JobOf(test.all, test.all[0])); !slices.Equal(got, test.want) {
				t.Errorf("the job is of processes %v, want %v", got, test.want)
			}
		})
	}
}

func pidsIn(processes []Process) (pids []int) {
	for _, p := range processes {
		pids = append(pids, p.PID)
	}
	return pids
}
