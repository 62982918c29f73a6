package remote

import (
	"io"
	"net"
	"sync"
	"time"
)

// pipe is a connection over two streams, such as a command's standard input and
// output. It has no deadlines: the pings of HTTP/2 notice a silent peer.
type pipe struct {
	bare
	io.Reader
	io.Writer
	once   sync.Once
	closed chan struct{} // closed by Close
	close  func()        // called once, by Close
}

func newPipe(r io.Reader, w io.Writer, closing func()) *pipe {
	return &pipe{Reader: r, Writer: w, closed: make(chan struct{}), close: closing}
}

// Close ends the connection. It may be called again.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.closed); p.close() })
	return nil
}

// address is the address of a pipe, which has none.
type address struct{}

func (address) Network() string { return "pipe" }
func (address) String() string  { return "memtop bridge" }

// bare is the part of a connection that has neither addresses nor deadlines.
type bare struct{}

func (bare) LocalAddr() net.Addr              { return address{} }
func (bare) RemoteAddr() net.Addr             { return address{} }
func (bare) SetDeadline(time.Time) error      { return nil }
func (bare) SetReadDeadline(time.Time) error  { return nil }
func (bare) SetWriteDeadline(time.Time) error { return nil }

// only is a listener with one connection, and ends with it.
type only struct {
	*pipe
	accepted bool
}

// Accept returns the connection, and then waits for its end. It is called by one
// goroutine.
func (o *only) Accept() (net.Conn, error) {
	if !o.accepted {
		o.accepted = true
		return o.pipe, nil
	}
	<-o.closed
	return nil, net.ErrClosed
}

func (o *only) Addr() net.Addr { return address{} }
