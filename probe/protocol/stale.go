package protocol

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// maxPath is the longest path that fits into a socket address on every
// system.
const maxPath = 103

// RemoveStale removes the sockets that ended programs left in a folder, and those of
// hosts that were killed.
func RemoveStale(ctx context.Context, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // this only tidies the folder; making the socket will report the error
	}
	for _, e := range entries {
		_, _, ok := ParseSocketName(e.Name())
		if ok = ok || strings.HasSuffix(e.Name(), HostSuffix); ok && e.Type() == fs.ModeSocket {
			if path := filepath.Join(dir, e.Name()); Stale(ctx, path) {
				_ = os.Remove(path)
			}
		}
	}
}

// Stale reports whether no process listens on a socket. It tries the socket, not
// the table of processes: the owner may live in another PID namespace.
func Stale(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	name, release, err := Reach(path)
	if err != nil {
		return false
	}
	defer release()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", name)
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
