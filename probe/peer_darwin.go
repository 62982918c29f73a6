package probe

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peerOf returns the process at the other end, as the kernel noted it when the
// connection was made.
func peerOf(c *net.UnixConn) (peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var who peer
	var failed error
	err = raw.Control(func(fd uintptr) { who, failed = peerOfSocket(int(fd)) })
	return who, errors.Join(err, failed)
}

func peerOfSocket(fd int) (peer, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return peer{pid: pid, uid: int(cred.Uid)}, err
}
