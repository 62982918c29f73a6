package attach

import (
	"cmp"
	"errors"
	"slices"
)

// # Processes of one job
//
// A launcher's own name for the job, which every process has from its environment,
// says which belong together. Two jobs may have the same name at different times, and
// at the same time in two containers, so of several processes with one rank the one
// counts that began closest to the one that was asked about.
//
// Where the launcher gives no name, processes belong together that run the same
// command on the same machine, have the same world and began within [nameless]. Two
// such jobs beside each other cannot be told apart: then a process is a job of its own.

// nameless is within which time, in microseconds, a launcher starts all processes of a
// job that has no name.
const nameless = 60_000_000

// JobOf returns the processes that are ranks of the same job as one of them, ordered
// by rank, and that one among them; nil when it is alone. Last come those that do not
// answer now and may be ranks that are missing: of the same user, command and machine.
func JobOf(all []Process, one Process) []Process {
	if one.Problem != nil || one.Info.Rank == nil {
		return nil
	}
	members := slices.DeleteFunc(slices.Clone(all), func(p Process) bool { return !together(&one, &p) })
	slices.SortStableFunc(members, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.Info.Rank.Rank, b.Info.Rank.Rank), cmp.Compare(apart(&one, &a), apart(&one, &b)))
	})
	each := slices.CompactFunc(slices.Clone(members), sameRank)
	switch job := one.Info.Rank; {
	case job.Job == "" && len(each) < len(members):
		return []Process{one}
	case len(each) < job.World:
		return append(each, silentOf(all, one, job.World-len(each))...)
	}
	return each
}

func sameRank(a, b Process) bool { return a.Info.Rank.Rank == b.Info.Rank.Rank }

// together reports whether two processes belong to one job.
func together(a, b *Process) bool {
	if b.Problem != nil || b.Info.Rank == nil || a.User != b.User {
		return false
	}
	x, y := a.Info.Rank, b.Info.Rank
	switch {
	case x.Job != y.Job || x.World != y.World:
		return false
	case x.Rank == y.Rank:
		return identical(a, b) || x.Job == "" && similar(a, b)
	}
	return x.Job != "" || similar(a, b)
}

// identical reports whether two processes are one.
func identical(a, b *Process) bool {
	return a.Socket == b.Socket && a.PID == b.PID && a.Info.Host == b.Info.Host
}

// similar reports whether two processes may be of one job that has no name.
func similar(a, b *Process) bool {
	return a.Command == b.Command && a.Info.Host == b.Info.Host &&
		a.Info.Rank.Launcher == b.Info.Rank.Launcher && apart(a, b) <= nameless
}

// apart returns the time between the begins of two processes.
func apart(a, b *Process) int64 {
	return max(a.Info.Started-b.Info.Started, b.Info.Started-a.Info.Started)
}

// silentOf returns at most so many processes that may be ranks of a job and do not
// answer now.
func silentOf(all []Process, one Process, most int) []Process {
	var found []Process
	for _, p := range all {
		if p.Silent() && p.User == one.User && p.Command == one.Command && len(found) < most {
			found = append(found, p)
		}
	}
	return found
}

// Silent reports whether the process has a probe that does not answer now.
func (p *Process) Silent() bool {
	var busy *RefusedError
	return errors.As(p.Problem, new(*SilentError)) || errors.As(p.Problem, &busy) && busy.Busy
}
