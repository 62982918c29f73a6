package probe

import (
	"net"
	"sync"
	"time"
)

// # Too many connections
//
// A viewer beyond the limit must get an answer, or the program would seem to
// hang. The server cannot just close its connection: when a unix socket is closed
// with a request unread, the other side gets an error instead of the answer. So
// the server accepts a few extra connections and answers every request on them
// with "busy". It limits how long and how often it does so: a viewer in a loop
// gets a few hundred answers a second, and the others wait in the system's queue.

// bounded is a listener that limits how many connections are open at a time.
type bounded struct {
	net.Listener
	slots, away chan struct{} // an item for each open connection, and for each extra one; never closed
	closed      chan struct{} // closed by Close
	once        sync.Once
}

func newBounded(l net.Listener) *bounded {
	return &bounded{
		Listener: l, closed: make(chan struct{}),
		slots: make(chan struct{}, maxConnections), away: make(chan struct{}, maxTurnedAway),
	}
}

// Accept waits for room, then returns the next connection.
func (b *bounded) Accept() (net.Conn, error) {
	accepted, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &boundedConn{UnixConn: accepted.(*net.UnixConn), release: func() { <-b.slots }}
	select {
	case b.slots <- struct{}{}:
		return c, nil
	default:
	}
	select {
	case b.slots <- struct{}{}:
		return c, nil
	case b.away <- struct{}{}:
		c.tooMany, c.since = true, time.Now()
		c.release = func() { time.AfterFunc(time.Until(c.since.Add(turnAwayEvery)), func() { <-b.away }) }
		return c, nil
	case <-b.closed:
		_ = accepted.Close() // nothing was sent on it
		return nil, net.ErrClosed
	}
}

// Close also ends a call of Accept that waits for room.
func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// boundedConn is a connection within the limit, or an extra one.
type boundedConn struct {
	*net.UnixConn
	tooMany bool
	since   time.Time // when it was accepted, for an extra one
	release func()
	once    sync.Once
}

// SetReadDeadline gives an extra connection less time than others.
func (c *boundedConn) SetReadDeadline(t time.Time) error {
	if last := c.since.Add(turnAwayWithin); c.tooMany && (t.IsZero() || t.After(last)) {
		t = last
	}
	return c.UnixConn.SetReadDeadline(t)
}

// Close closes the connection and makes room for another.
func (c *boundedConn) Close() error {
	err := c.UnixConn.Close()
	c.once.Do(c.release)
	return err
}
