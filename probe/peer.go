package probe

import "errors"

// peer is the process at the other end of a connection.
type peer struct {
	pid int // as this process sees it, 0 when it cannot
	uid int
}

// errNoPeer is returned where the system does not say who is at the other
// end. There the folder's mode is the only guard.
var errNoPeer = errors.New("this system does not say who is at the other end of a socket")

// trusts reports whether a process of user uid may deal with one of other: its
// own user's, and root's.
func trusts(uid, other int) bool { return other == uid || other == 0 }
