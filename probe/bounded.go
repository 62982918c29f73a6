package probe

import (
	"net"
	"sync"
)

// bounded is a listener that has only so many connections open at a time. One
// more is closed at once: waiting for its turn it would look like a program
// that hangs.
type bounded struct {
	net.Listener
	slots chan struct{} // one item for each open connection; never closed
}

// Accept returns the next connection there is room for.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case b.slots <- struct{}{}:
			return &boundedConn{UnixConn: c.(*net.UnixConn), slots: b.slots}, nil
		default:
			_ = c.Close()
		}
	}
}

type boundedConn struct {
	*net.UnixConn
	slots chan struct{}
	once  sync.Once
}

// Close closes the connection and makes room for another.
func (c *boundedConn) Close() error {
	err := c.UnixConn.Close()
	c.once.Do(func() { <-c.slots })
	return err
}
