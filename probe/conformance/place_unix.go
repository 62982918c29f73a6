//go:build unix

package conformance

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/memtop/memtop/probe/protocol"
)

// examinePlace checks the socket and its folder. The connection has already
// checked that the process in the socket's name listens there.
func (e *examination) examinePlace() {
	path := e.viewer.place.Socket()
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		e.unseen("socket.folder", err.Error())
		return
	}
	socket, err := os.Lstat(path)
	if err != nil {
		e.unseen("socket.mode", err.Error())
		return
	}
	owner := func(i os.FileInfo) int { return int(i.Sys().(*syscall.Stat_t).Uid) }
	e.check("socket.folder", folder.Mode().Perm() == 0o700 && owner(folder) == owner(socket),
		"a folder of the program's user with mode 0700", "user %d, mode %04o", owner(folder), folder.Mode().Perm())
	e.check("socket.mode", socket.Mode().Perm() == 0o600, "mode 0600", "mode %04o", socket.Mode().Perm())
	_, _, named := protocol.ParseSocketName(filepath.Base(path))
	e.check("socket.name", named, "<pid>-<start time>.sock", "%s", filepath.Base(path))
}
