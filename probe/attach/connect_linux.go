package attach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/probe/protocol"
)

// # What is checked before a byte is sent
//
// The client opens the folder once, and all later steps use that handle, so that
// no one can replace the folder in between. It follows links on the way inside
// the process's own root, as the process would. The folder must be a real folder,
// must belong to the process's user, and must be closed to others. The socket
// must belong to that user too. The kernel says which process listens. It must be
// the expected process, and its start must be the one in the socket's name:
// otherwise another process has the pid now.

// openFolder opens and checks the folder of the socket. The caller closes it.
func (e endpoint) openFolder() (*os.File, error) {
	root, err := os.OpenFile(e.root, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer root.Close() // it was only looked through
	path := filepath.Join(e.root, e.folder)
	fd, err := unix.Openat2(int(root.Fd()), strings.TrimPrefix(e.folder, "/"), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // before Linux 5.6, and in some sandboxes
		fd, err = unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	folder := os.NewFile(uintptr(fd), path)
	if err := e.checkFolder(folder); err != nil {
		_ = folder.Close() // it was only inspected
		return nil, err
	}
	return folder, nil
}

func (e endpoint) checkFolder(folder *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(folder.Fd()), &stat); err != nil {
		return err
	}
	closed := uint32(0o077)
	if e.given {
		closed = 0o022
	}
	switch mode := stat.Mode & unix.S_IFMT; {
	case mode == unix.S_IFLNK:
		return &protocol.FolderError{Path: folder.Name(), Reason: "is a symbolic link"}
	case mode != unix.S_IFDIR:
		return &protocol.FolderError{Path: folder.Name(), Reason: "is not a folder"}
	case int(stat.Uid) != e.uid && (!e.given || stat.Uid != 0):
		return &protocol.FolderError{Path: folder.Name(), Reason: fmt.Sprintf("belongs to user %s, not to %s", UserName(int(stat.Uid)), UserName(e.uid))}
	case stat.Mode&closed != 0:
		return &protocol.FolderError{Path: folder.Name(), Reason: fmt.Sprintf("has mode %04o, which lets others in", stat.Mode&0o7777)}
	}
	return nil
}

// check reports whether the socket exists, in a folder that can be trusted.
func (e endpoint) check() error {
	folder, err := e.openFolder()
	if err != nil {
		return e.meant(err)
	}
	defer folder.Close() // it was only looked through
	return e.meant(e.checkSocket(folder))
}

func (e endpoint) checkSocket(folder *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(int(folder.Fd()), e.name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "open", Path: e.path(), Err: err}
	}
	switch {
	case stat.Mode&unix.S_IFMT != unix.S_IFSOCK:
		return e.occupied()
	case int(stat.Uid) != e.uid:
		return &PermissionError{
			fmt.Sprintf("socket %s belongs to user %s, not to %s", e.path(), UserName(int(stat.Uid)), UserName(e.uid)), noTrust,
		}
	}
	return nil
}

const noTrust = "do not attach to it: another program may have put it there"

// connect opens a connection and checks who is at the other end.
func (e endpoint) connect(ctx context.Context) (*net.UnixConn, error) {
	folder, err := e.openFolder()
	if err != nil {
		return nil, e.meant(err)
	}
	defer folder.Close() // it was only looked through
	if err := e.checkSocket(folder); err != nil {
		return nil, e.meant(err)
	}
	var d net.Dialer
	// Through the open folder, however long its path is.
	dialled, err := d.DialContext(ctx, "unix", filepath.Join("/proc/self/fd", strconv.Itoa(int(folder.Fd())), e.name))
	if err != nil {
		return nil, e.meant(err)
	}
	conn := dialled.(*net.UnixConn)
	if err := e.checkPeer(conn); err != nil {
		_ = conn.Close() // nothing was sent on it
		return nil, err
	}
	return conn, nil
}

// checkPeer reports whether the process at the other end is the owner of the
// socket.
func (e endpoint) checkPeer(conn *net.UnixConn) error {
	who, err := protocol.PeerOf(conn)
	if err != nil {
		return err
	}
	switch {
	case who.UID != e.uid:
		return &PermissionError{
			fmt.Sprintf("socket %s is served by user %s, not by %s", e.path(), UserName(who.UID), UserName(e.uid)), noTrust,
		}
	case e.pid != 0 && who.PID != e.pid:
		return &PermissionError{
			fmt.Sprintf("socket %s is served by process %d, not by %d", e.path(), who.PID, e.pid), noTrust,
		}
	}
	return e.checkName(who.PID)
}

// checkName reports whether the socket's name fits the process that listens. It
// does not when another process has got the pid in between.
func (e endpoint) checkName(pid int) error {
	inside, start, named := protocol.ParseSocketName(e.name)
	if !named || pid == 0 || !procIsOurs() {
		return nil // one of the two starts is unknown
	}
	switch p, err := readProcess(pid); {
	case errors.Is(err, fs.ErrNotExist):
		return &NotFoundError{Target: "process " + strconv.Itoa(pid)}
	case err != nil || p.inside != inside || p.start != start:
		return &PermissionError{fmt.Sprintf("process %d is not the one that socket %s is named for", pid, e.path()), noTrust}
	}
	return nil
}

// endpointAt returns the socket at a path that the user gave.
func endpointAt(path string) (endpoint, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return endpoint{}, err
	}
	e := endpoint{name: filepath.Base(path), given: true}
	e.root, e.folder = splitRoot(filepath.Dir(path))
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return e, e.meant(&fs.PathError{Op: "open", Path: path, Err: err})
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return e, e.occupied()
	}
	e.uid = int(stat.Uid)
	if !mayAttach(e.uid) && e.uid != 0 {
		return e, &PermissionError{"socket " + path + " belongs to user " + UserName(e.uid), "attach as that user, or as root"}
	}
	return e, e.check()
}

// splitRoot divides a path such as /proc/PID/root/tmp, which leads through a
// link that only the kernel can follow, into that root and the rest.
func splitRoot(path string) (root, rest string) {
	parts := strings.SplitN(path, "/", 5) // "", "proc", PID, "root", ...
	if len(parts) < 4 || parts[1] != "proc" || parts[3] != "root" {
		return "/", path
	}
	return strings.Join(parts[:4], "/"), "/" + strings.Join(parts[4:], "/")
}
