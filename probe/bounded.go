package probe

import (
	"io"
	"net"
	"sync"
)

// bounded is a listener that has only so many connections open at a time. One
// more is told so and closed at once: waiting for its turn it would look like a
// program that hangs.
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
			_, _ = io.WriteString(c, full) // there is room for it in a new connection
			_ = c.Close()
		}
	}
}

// full is the answer to a connection too many.
const full = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n" +
	`{"error":"too many connections are open: close some"}` + "\n"

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
