package attach

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/procfs"
)

// # Finding sockets
//
// A program puts its socket into a folder that its environment names, under its
// own pid. Folder and pid may differ from what this process sees: the program may
// run in a container with its own root and PID namespace. So discovery goes
// through the processes of /proc and looks where each would have put its socket:
// /proc/PID/environ gives the folder, NSpid the name, and /proc/PID/root the path
// to it. It trusts no socket before connect has checked it.

// sightings returns all sockets that may belong to programs to which this user
// may attach, and everything else in their folders.
func sightings(ctx context.Context) ([]sighting, error) {
	if !procIsOurs() {
		return append(listFolder(), foreignFolders()...), nil
	}
	pids, err := procfs.Processes()
	if err != nil {
		return nil, err
	}
	var found []sighting
	for _, pid := range pids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, err := readProcess(pid)
		if err != nil || !mayAttach(p.uid) {
			continue // it has ended, or this user may not attach to it
		}
		if e, err := p.endpoint(); err == nil || e.exists() {
			found = append(found, sighting{e, err})
		}
	}
	return slices.Concat(found, strays(found), foreignFolders()), nil
}

// exists reports whether this process can see a socket there.
func (e endpoint) exists() bool {
	info, err := os.Lstat(e.path())
	return err == nil && info.Mode().Type() == fs.ModeSocket
}

// strays returns the sockets in this user's own folder that belong to none of the
// processes found. A process that has ended left them behind, or their process is
// just starting, or another program put them there.
func strays(found []sighting) []sighting {
	named := make(map[string]bool, len(found))
	for _, s := range found {
		named[s.name] = true
	}
	var rest []sighting
	for _, s := range listFolder() {
		if named[s.name] {
			continue
		}
		inside, start, _ := protocol.ParseSocketName(s.name)
		if p, err := readProcess(inside); err != nil || p.inside != inside || p.start != start {
			s.pid = 0 // the socket's process has ended
		}
		rest = append(rest, s)
	}
	return rest
}

// endpoint returns the socket of a process. The error is a [*NoProbeError] when
// it has none. If a folder is the reason, the error says what is wrong with it,
// and the socket is the one that would be there.
func (p process) endpoint() (endpoint, error) {
	theirs, _ := os.Readlink(procfs.Of(p.pid, "cwd")) // "" if it may not be read; then relative paths lead nowhere
	ours, _ := os.Getwd()
	folders := foldersFor(from(theirs, procfs.Environment(p.pid)), p.ownUID())
	for _, folder := range foldersFor(from(ours, os.Getenv), p.uid) {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder) // this process may not be allowed to read its environment
		}
	}
	if _, err := os.Stat(p.root()); errors.Is(err, fs.ErrPermission) {
		return endpoint{}, &NoProbeError{PID: p.pid, Hidden: true}
	}
	var failed error = &NoProbeError{PID: p.pid}
	e, at := endpoint{pid: p.pid, uid: p.uid, root: p.root(), name: protocol.SocketName(p.inside, p.start)}, endpoint{}
	for _, e.folder = range folders {
		err := e.check()
		if err == nil {
			return e, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !at.exists() {
			failed, at = err, e
		}
	}
	return at, failed
}

// from returns an environment with its paths relative to a folder.
func from(folder string, getenv func(string) string) func(string) string {
	return func(name string) string {
		value := getenv(name)
		if value == "" || filepath.IsAbs(value) {
			return value
		}
		return filepath.Join(folder, value)
	}
}

// find returns the socket of a process that the user gave.
func find(_ context.Context, pid int) (endpoint, error) {
	p, err := own(pid)
	if err != nil {
		return endpoint{}, err
	}
	e, err := p.endpoint()
	e.pid = pid
	return e, err
}

// own returns a process if this user may attach to it.
func own(pid int) (process, error) {
	p, err := readProcess(pid)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, &NotFoundError{Target: "process " + strconv.Itoa(pid)}
	case err == nil && !mayAttach(p.uid):
		err = &PermissionError{
			Cause:  "process " + strconv.Itoa(pid) + " belongs to user " + UserName(p.uid),
			Remedy: "attach as that user, or as root",
		}
	}
	return p, err
}
