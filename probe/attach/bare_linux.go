package attach

import (
	"context"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Programs without an agent
//
// A PyTorch job has many processes, and few of them are worth an agent: launchers
// start other processes, and data loaders fork workers that look like the program
// itself. So Bare takes the Python processes that have mapped PyTorch or use a
// GPU. It leaves out launchers and other helpers, and copies of their parents. A
// copy that uses a GPU is a rank.

// Bare returns Python programs to which this user may attach and which have
// PyTorch or are in onCards, the processes that use a GPU. It does not check
// whether they have an agent. All have a [*NoProbeError].
func Bare(ctx context.Context, onCards []int) ([]Process, error) {
	if !procIsOurs() {
		return nil, nil
	}
	pids, err := procfs.Processes()
	if err != nil {
		return nil, err
	}
	programs := make(map[int][]string) // arguments by pid
	var found []Process
	for _, pid := range pids {
		if ctx.Err() != nil || !runsPython(pid) {
			continue
		}
		p, err := own(pid)
		if err != nil {
			continue // it has ended, or this user may not attach to it
		}
		onCard := slices.Contains(onCards, pid)
		arguments := procfs.Arguments(pid)
		if isHelper(arguments) || !onCard && KindOf(pid) != PyTorchKind {
			continue
		}
		programs[pid] = arguments
		status, _ := procfs.Status(procfs.Of(pid, "status")) // nothing if it has ended
		if parent := procfs.Number(status["PPid"], 0, 0); !onCard && slices.Equal(programs[parent], arguments) {
			continue // the parent's pid is lower, unless pids have wrapped around
		}
		found = append(found, Process{PID: pid, User: UserName(p.uid), Command: trace.Printable(procfs.Command(pid)), Problem: &NoProbeError{PID: pid}})
	}
	slices.SortFunc(found, func(a, b Process) int { return a.PID - b.PID })
	return found, ctx.Err()
}

// runsPython reports whether a process runs a Python interpreter, by the
// program's name.
func runsPython(pid int) bool {
	program, err := os.Readlink(procfs.Of(pid, "exe"))
	return err == nil && strings.HasPrefix(path.Base(program), "python")
}

// isHelper reports whether a Python command line is that of a launcher or of a
// worker.
func isHelper(arguments []string) bool {
	return launchesTorch(arguments) || slices.ContainsFunc(arguments[1:], func(a string) bool {
		return a == "--multiprocessing-fork" || strings.HasPrefix(a, "from multiprocessing.") || strings.Contains(a, "compile_worker") ||
			strings.HasPrefix(a, "joblib.externals.loky")
	})
}
