//go:build !linux && !darwin

package protocol

import "net"

// PeerOf cannot be implemented here.
func PeerOf(*net.UnixConn) (Peer, error) { return Peer{}, ErrNoPeer }
