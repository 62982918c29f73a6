package attach

import (
	"context"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// # Programs without an agent
//
// A PyTorch job is many processes, few of which are worth an agent: launchers start
// others, and data loaders fork workers that look like the program itself. So of
// the Python processes that have PyTorch mapped, or use a GPU, those are left out that only
// help, and copies of their parents; a copy that uses a GPU is a rank.

// Bare returns the Python programs, among those that this user may attach to, that
// have PyTorch or are in onCards, the processes that use a GPU. It does not look
// whether they have an agent. All have a [*NoProbeError].
func Bare(ctx context.Context, onCards []int) ([]Process, error) {
	if !procIsOurs() {
		return nil, nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	programs := make(map[int][]string) // arguments by pid
	var found []Process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || ctx.Err() != nil || !runsPython(pid) {
			continue
		}
		p, err := own(pid)
		if err != nil {
			continue // it has ended, or is nothing to this user
		}
		onCard := slices.Contains(onCards, pid)
		arguments := argumentsOf(pid)
		if isHelper(arguments) || !onCard && KindOf(pid) != PyTorchKind {
			continue
		}
		programs[pid] = arguments
		if parent := parentOf(pid); !onCard && slices.Equal(programs[parent], arguments) {
			continue // the parent's pid is lower, but where pids have begun anew
		}
		found = append(found, Process{PID: pid, User: userOf(p.uid), Command: commandOf(pid), Problem: &NoProbeError{PID: pid}})
	}
	slices.SortFunc(found, func(a, b Process) int { return a.PID - b.PID })
	return found, ctx.Err()
}

// runsPython reports whether the program of a process is an interpreter, by its name.
func runsPython(pid int) bool {
	program, err := os.Readlink(inProc(pid, "exe"))
	return err == nil && strings.HasPrefix(path.Base(program), "python")
}

// isHelper reports whether a command line of Python is of a process that starts
// programs or works for one.
func isHelper(arguments []string) bool {
	return launchesTorch(arguments) || slices.ContainsFunc(arguments[1:], func(a string) bool {
		return a == "--multiprocessing-fork" || strings.HasPrefix(a, "from multiprocessing.") || strings.Contains(a, "compile_worker") ||
			strings.HasPrefix(a, "joblib.externals.loky")
	})
}

func parentOf(pid int) int {
	status, err := os.ReadFile(inProc(pid, "status"))
	if err != nil {
		return 0
	}
	return number(status, "PPid", 0)
}
