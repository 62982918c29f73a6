package attach

import (
	"cmp"
	"errors"
	"slices"
)

// # Processes of one job
//
// Every process has the launcher's name of its job in its environment, and that
// name says which processes belong together. Two jobs may have the same name at
// different times, or at the same time in two containers. So among several
// processes with one rank, JobOf takes the one that began closest to the given
// process.
//
// If the launcher gives no name, processes belong together when they run the same
// command on the same machine, have the same world size and began within
// [nameless]. Two such jobs at the same time cannot be told apart: then each
// process is a job of its own.

// nameless is the time, in microseconds, within which a launcher starts all
// processes of a job without a name.
const nameless = 60_000_000

// JobOf returns the processes of the same job as one of them, ordered by rank and
// with that one; nil when it is alone. Processes that do not answer now and may
// be the missing ranks come last: they have the same user, command and machine.
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

// identical reports whether two values describe the same process.
func identical(a, b *Process) bool {
	return a.Socket == b.Socket && a.PID == b.PID && a.Info.Host == b.Info.Host
}

// similar reports whether two processes may belong to one job without a name.
func similar(a, b *Process) bool {
	return a.Command == b.Command && a.Info.Host == b.Info.Host &&
		a.Info.Rank.Launcher == b.Info.Rank.Launcher && apart(a, b) <= nameless
}

// apart returns the time between the begins of two processes.
func apart(a, b *Process) int64 {
	return max(a.Info.Started-b.Info.Started, b.Info.Started-a.Info.Started)
}

// silentOf returns processes that do not answer now and may be ranks of the job,
// up to a limit.
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
