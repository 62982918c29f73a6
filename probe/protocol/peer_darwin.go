package protocol

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// PeerOf returns the process at the other end, as the kernel noted it when the
// connection was made.
func PeerOf(c *net.UnixConn) (Peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var who Peer
	var failed error
	err = raw.Control(func(fd uintptr) { who, failed = peerOfSocket(int(fd)) })
	return who, errors.Join(err, failed)
}

func peerOfSocket(fd int) (Peer, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return Peer{PID: pid, UID: int(cred.Uid)}, err
}
