package attach

import (
	"cmp"
	"slices"
)

// JobOf returns those of the processes that are ranks of the same job as one of them,
// by rank, that one included; nil when it is alone, or none of them. A job is one of
// one user. Where a rank is there twice, because a job was started again under the
// same name, it is the process that began nearest to that one.
func JobOf(processes []Process, pid int) []Process {
	at := slices.IndexFunc(processes, func(p Process) bool { return p.PID == pid && p.ranked() })
	if at < 0 {
		return nil
	}
	one := processes[at]
	var job []Process
	for _, p := range processes {
		if p.ranked() && p.User == one.User && p.Info.Rank.Job == one.Info.Rank.Job && p.Info.Rank.World == one.Info.Rank.World {
			job = append(job, p)
		}
	}
	apart := func(p Process) int64 { return max(p.Info.Started-one.Info.Started, one.Info.Started-p.Info.Started) }
	slices.SortStableFunc(job, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.Info.Rank.Rank, b.Info.Rank.Rank), cmp.Compare(apart(a), apart(b)))
	})
	return slices.CompactFunc(job, func(a, b Process) bool { return a.Info.Rank.Rank == b.Info.Rank.Rank })
}

// ranked reports whether the process says which job it is of.
func (p *Process) ranked() bool {
	return p.Info != nil && p.Info.Rank != nil && p.Info.Rank.Job != "" && p.Info.Rank.World > 1
}
