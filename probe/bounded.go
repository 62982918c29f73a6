package probe

import (
	"net"
	"sync"
	"time"
)

// # Too many connections
//
// A viewer too many must get an answer, or the program would seem to hang. Closing its connection at once would not do: a unix socket that is closed
// with a request unread gives the other side an error in the place of the answer.
// So a few more connections are served, in which every request is answered with
// "busy". How long and how often is bounded: a viewer in a loop gets a few hundred
// answers a second, and the others wait in the system's queue.

// bounded is a listener that has only so many connections open at a time.
type bounded struct {
	net.Listener
	slots, away chan struct{} // an item for each open connection, and for each too many; never closed
	closed      chan struct{} // closed by Close
	once        sync.Once
}

func newBounded(l net.Listener) *bounded {
	return &bounded{
		Listener: l, closed: make(chan struct{}),
		slots: make(chan struct{}, maxConnections), away: make(chan struct{}, maxTurnedAway),
	}
}

// Accept returns the next connection, when there is room for it.
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

// Close ends a call of Accept that waits for room, too.
func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// boundedConn is a connection that has room, or is one too many.
type boundedConn struct {
	*net.UnixConn
	tooMany bool
	since   time.Time // when it was accepted, if it is one too many
	release func()
	once    sync.Once
}

// SetReadDeadline leaves a connection too many less time than others.
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
