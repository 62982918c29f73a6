//go:build unix

package sensor

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// rightsBytes is the room for the file that comes with a greeting.
var rightsBytes = unix.CmsgSpace(4 * 4)

// listenerIn returns the listening socket among received files, nil if there are none.
func listenerIn(control []byte) (*net.UnixListener, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return nil, err
	}
	for _, extra := range fds[1:] {
		_ = unix.Close(extra) // nobody needs it
	}
	file := os.NewFile(uintptr(fds[0]), "listener") //nolint:gosec // the kernel's number
	defer file.Close()                              // the listener has a copy
	unix.CloseOnExec(fds[0])
	l, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		_ = l.Close() // it is none of ours
		return nil, errors.New("an agent's socket is no unix socket")
	}
	return u, nil
}
