//go:build !linux && !darwin

package protocol

import "net"

// PeerOf is not known here.
func PeerOf(*net.UnixConn) (Peer, error) { return Peer{}, ErrNoPeer }
