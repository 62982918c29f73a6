package attach

import (
	"os"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/procfs"
	"github.com/memtop/memtop/snapshots/trace"
)

// Look describes a process from what the system knows. Its error is that of an
// attach: this user may not attach, or there is no such process.
func Look(pid int) (*Running, error) {
	runs := watch(pid)
	p, err := own(pid)
	if err != nil {
		return nil, err
	}
	cwd, _ := os.Readlink(procfs.Of(pid, "cwd")) // "" if it may not be read
	r := &Running{
		PID: pid, Inside: p.inside, User: p.uid, Owner: UserName(p.uid), Command: trace.Printable(procfs.Command(pid)), Root: p.root(), Arguments: procfs.Arguments(pid), Maps: mappedFiles(pid),
		Folders: foldersFor(from(cwd, procfs.Environment(pid)), p.ownUID()), Stopped: procfs.IsStopped(pid),
	}
	status, _ := procfs.Status(procfs.Of(pid, "status")) // the process was readable a moment ago; if not, the number is 0
	r.Tracer = procfs.Number(status["TracerPid"], 0, 0)
	r.Executable, _ = os.Readlink(procfs.Of(pid, "exe"))
	if root, err := os.Readlink(procfs.Of(pid, "root")); err == nil && root != "/" {
		r.Executable = strings.TrimPrefix(r.Executable, root)
	}
	if !runs() {
		return nil, &NotFoundError{Target: "process " + strconv.Itoa(pid)}
	}
	return r, nil
}

// mappedFiles returns the names of the files that a process has mapped, within
// the bound.
func mappedFiles(pid int) string {
	var names strings.Builder
	last := ""
	for line := range strings.Lines(procfs.Beginning(pid, "maps", maxMappings)) {
		if at := strings.IndexByte(line, '/'); at >= 0 && line[at:] != last {
			last = line[at:]
			names.WriteString(last)
		}
	}
	return names.String()
}
