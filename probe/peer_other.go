//go:build !linux && !darwin

package probe

import "net"

// peerOf cannot tell.
func peerOf(*net.UnixConn) (peer, error) { return peer{}, errNoPeer }
