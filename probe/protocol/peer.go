package protocol

import "errors"

// Peer is the process at the other end of a connection.
type Peer struct {
	PID int // as this process sees it, 0 when it cannot
	UID int
}

// ErrNoPeer is returned where the system does not say who is at the other
// end. There the folder's mode is the only guard.
var ErrNoPeer = errors.New("this system does not say who is at the other end of a socket")
