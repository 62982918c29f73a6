package probe

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/memtop/memtop/probe/protocol"
)

// The socket
//
// A process that can open the socket can read the program's memory layout and
// change its settings. So the socket lies in a folder that belongs to the user
// and is closed to all others. The program and its viewers check that with lstat
// before every use. They refuse, and do not repair, a folder that another user
// could have made or could have put something into.
//
// The name identifies the process: its id and its start, in clock ticks since
// boot, so that a later process with the same id is not mistaken for it. The
// probe makes the socket under a hidden name and renames it once it listens. So a
// socket that refuses connections under its final name is left over, and may be
// removed.

// socket is the socket that a probe listens on.
type socket struct {
	*net.UnixListener
	path string
}

// listen makes the program's socket.
func listen(ctx context.Context, o Options, who identity) (*socket, error) {
	path, err := filepath.Abs(socketPath(o, who))
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if err := protocol.MakeFolder(dir, who.uid); err != nil {
		return nil, err
	}
	protocol.RemoveStale(ctx, dir)
	if _, err := os.Lstat(path); err == nil && protocol.Stale(ctx, path) {
		_ = os.Remove(path)
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("%s is in use: one probe is enough for a program", path)
	}
	l, err := ListenAt(path)
	if err != nil {
		return nil, err
	}
	return &socket{l, path}, nil
}

func socketPath(o Options, who identity) string {
	if o.Path != "" {
		return o.Path
	}
	dir := o.Dir
	if dir == "" {
		dir = protocol.Folder()
	}
	return filepath.Join(dir, protocol.SocketName(who.pid, who.start))
}

// ListenAt makes a socket that only this user can open. It stays when the listener is
// closed.
func ListenAt(path string) (*net.UnixListener, error) {
	hidden := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	_ = os.Remove(hidden) // left by a process of the same name that died right here
	name, release, err := protocol.Reach(hidden)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(hidden, 0o600); err == nil {
		err = os.Rename(hidden, path)
	}
	if err != nil {
		_ = l.Close()
		_ = os.Remove(hidden)
		return nil, err
	}
	return l, nil
}

// remove frees the socket's path. Accepted connections stay open.
func (s *socket) remove() { _ = os.Remove(s.path) }
