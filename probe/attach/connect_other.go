//go:build !linux

package attach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/memtop/memtop/probe/protocol"
)

// sightings returns the sockets in this user's folder, the only place to look on
// this system.
func sightings(context.Context) ([]sighting, error) {
	return append(listFolder(), foreignFolders()...), nil
}

// find returns the socket of a process that the user named.
func find(_ context.Context, pid int) (endpoint, error) {
	for _, s := range listFolder() {
		if s.pid == pid {
			return s.endpoint, s.problem
		}
	}
	return endpoint{}, &NoProbeError{PID: pid}
}

// endpointAt returns the socket at a path that the user gave.
func endpointAt(path string) (endpoint, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return endpoint{}, err
	}
	e := endpoint{uid: os.Geteuid(), root: "/", folder: filepath.Dir(path), name: filepath.Base(path), given: true}
	e.pid, _, _ = protocol.ParseSocketName(e.name)
	return e, e.check()
}

// watch cannot be implemented here, so a program that cannot be reached counts as
// ended.
func watch(int) func() bool { return func() bool { return false } }

// began cannot be implemented here, like watch.
func began(int, uint64) bool { return false }

// hasEnded cannot be implemented here: a process counts as running.
func hasEnded(int) bool { return false }

// check reports whether the socket exists, in a folder that can be trusted.
func (e endpoint) check() error {
	if !e.given {
		if err := protocol.CheckFolder(filepath.Dir(e.path()), e.uid); err != nil {
			return e.meant(err)
		}
	}
	info, err := os.Lstat(e.path())
	if err != nil {
		return e.meant(err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return e.occupied()
	}
	return nil
}

// connect opens a connection and checks who is at the other end, if the system
// says it.
func (e endpoint) connect(ctx context.Context) (*net.UnixConn, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	var d net.Dialer
	dialled, err := d.DialContext(ctx, "unix", e.path())
	if err != nil {
		return nil, e.meant(err)
	}
	conn := dialled.(*net.UnixConn)
	who, err := protocol.PeerOf(conn)
	if errors.Is(err, protocol.ErrNoPeer) {
		return conn, nil
	}
	if err == nil && !mayAttach(who.UID) {
		err = &PermissionError{fmt.Sprintf("socket %s is served by user %s", e.path(), UserName(who.UID)), "attach as that user, or as root"}
	}
	if err != nil {
		_ = conn.Close() // nothing was sent on it
		return nil, err
	}
	return conn, nil
}
