package probe

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// # Finding sockets
//
// A program puts its socket into a folder that its environment names, under the
// pid that it takes itself to have. Both may differ from what is true here: it
// may run in a container with a root and a count of its own. So the processes
// of /proc are gone through, and each is looked for where it would have put the
// socket: /proc/PID/environ says the folder, NSpid the name, /proc/PID/root the
// way there. Nothing that is found so is trusted before connect has checked it.

// endpoints returns all sockets that may be of programs that this user may
// attach to.
func endpoints(ctx context.Context) ([]endpoint, error) {
	if !procIsOurs() {
		return listFolder(), nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []endpoint
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := readProcess(pid)
		if err != nil || !mayAttach(p.uid) {
			continue // it has ended, or is nothing to this user
		}
		if e, err := p.endpoint(); err == nil {
			found = append(found, e)
		}
	}
	return found, nil
}

// endpoint returns the socket of a process. The error is a [*NoProbeError] when
// it has none, and says what is wrong with its folder if that is the reason.
func (p process) endpoint() (endpoint, error) {
	theirs, _ := os.Readlink(inProc(p.pid, "cwd")) // "" where it may not be read, and then relative paths lead nowhere
	ours, _ := os.Getwd()
	folders := foldersFor(from(theirs, EnvironmentOf(p.pid)), p.ownUID())
	for _, folder := range foldersFor(from(ours, os.Getenv), p.uid) {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder) // its environment may be closed to us
		}
	}
	if _, err := os.Stat(p.root()); errors.Is(err, fs.ErrPermission) {
		return endpoint{}, &NoProbeError{PID: p.pid, Hidden: true}
	}
	var failed error = &NoProbeError{PID: p.pid}
	e := endpoint{pid: p.pid, uid: p.uid, root: p.root(), name: socketName(p.inside, p.start)}
	for _, e.folder = range folders {
		err := e.check()
		if err == nil {
			return e, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			failed = err
		}
	}
	return endpoint{}, failed
}

// from returns an environment whose paths are seen from a folder.
func from(folder string, getenv func(string) string) func(string) string {
	return func(name string) string {
		value := getenv(name)
		if value == "" || filepath.IsAbs(value) {
			return value
		}
		return filepath.Join(folder, value)
	}
}

// find returns the socket of a process that the user named.
func find(_ context.Context, pid int) (endpoint, error) {
	p, err := readProcess(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return endpoint{}, &NotFoundError{Target: "process " + strconv.Itoa(pid)}
	case err != nil:
		return endpoint{}, err
	case !mayAttach(p.uid):
		return endpoint{}, &PermissionError{
			Cause:  "process " + strconv.Itoa(pid) + " belongs to user " + userOf(p.uid),
			Remedy: "attach as that user, or as root",
		}
	}
	return p.endpoint()
}
