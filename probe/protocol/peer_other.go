//go:build !linux && !darwin

package protocol

import "net"

// PeerOf cannot tell.
func PeerOf(*net.UnixConn) (Peer, error) { return Peer{}, ErrNoPeer }
