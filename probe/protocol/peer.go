package protocol

import "errors"

// Peer is the process at the other end of a connection.
type Peer struct {
	PID int // in this process's namespace, 0 if it is not visible there
	UID int
}

// ErrNoPeer says that the system does not identify the process at the other end.
// Then the folder's mode is the only guard.
var ErrNoPeer = errors.New("this system does not say who is at the other end of a socket")
