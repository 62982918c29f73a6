package probe

import (
	"errors"
	"net"
	"syscall"
)

// peerOf returns the process at the other end, as the kernel noted it when the
// connection was made.
func peerOf(c *net.UnixConn) (peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return peer{}, err
	}
	return peer{pid: int(cred.Pid), uid: int(cred.Uid)}, nil
}
