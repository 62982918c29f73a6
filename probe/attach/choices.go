package attach

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Target names a process on the command line.
func (p Process) Target() string {
	if p.Host != "" {
		return p.Host + ":" + strconv.Itoa(p.PID)
	}
	return strconv.Itoa(p.PID)
}

// Same reports whether two values describe the same process.
func (p Process) Same(q Process) bool { return p.Host == q.Host && p.Socket == q.Socket }

// OfJob reports whether a process belongs to the job that the user named: by the
// launcher's name of the job, the program's name, or the name of its script.
func (p Process) OfJob(job string) bool {
	if job == "" {
		return true
	}
	if p.Info != nil && p.Info.Rank != nil && p.Info.Rank.Job == job {
		return true
	}
	words := strings.Fields(p.Command)
	return slices.ContainsFunc(words[:min(len(words), nameWords)], func(word string) bool { return path.Base(word) == job })
}

// nameWords is how many words of a command line may contain the name: the
// interpreter, its options and the script.
const nameWords = 4

// Choices returns the processes that the user can choose from. A job of several
// ranks is one choice: one rank stands for all, also for those that do not answer
// now.
func Choices(all []Process) []Process {
	var list, others []Process
	for _, p := range all {
		if ranks := JobOf(all, p); !contains(others, p) && len(ranks) > 1 {
			others = append(others, ranks...)
			list = append(list, p)
		}
	}
	for _, p := range all {
		if !contains(others, p) {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b Process) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID)) })
	return list
}

// contains reports whether a process is in a list.
func contains(list []Process, p Process) bool {
	return slices.ContainsFunc(list, func(q Process) bool { return p.Same(q) })
}

// Attachable returns the processes that the user can choose from, and those that
// may be attachable but do not answer now.
func Attachable(all []Process) (good, silent []Process) {
	for _, p := range all {
		switch {
		case p.Problem == nil:
			good = append(good, p)
		case p.Silent():
			silent = append(silent, p)
		}
	}
	return good, silent
}

// NothingAttachable returns the error of the only process there is, or an error
// that says that there is none.
func NothingAttachable(all []Process) error {
	var err error = &NotFoundError{Target: "process that can be attached to"}
	for _, p := range all {
		if p.PID > 0 {
			err = p.Problem
		}
	}
	return err
}
