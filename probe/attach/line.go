package attach

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"sync"

	"github.com/memtop/memtop/probe/protocol"
)

// line is a connection to a program that carries one request at a time, on the
// goroutine of the request. It is an http.RoundTripper for callers that ask many
// programs ten times a second: http.Transport has two goroutines for each
// connection, and waking them takes longer than the request. Safe for concurrent
// use.
type line struct {
	endpoint endpoint
	busy     sync.Mutex // held from a request to the end of its answer; guards what follows
	conn     net.Conn   // nil when there is none
	in       *bufio.Reader
	head     io.LimitedReader // the reader under in: it bounds an answer's header
	used     bool             // the connection has carried an answer
}

// RoundTrip sends a request and reads the answer's header. The request's context
// applies until the answer was read or closed.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.busy.Lock()
	response, err := l.exchange(r)
	if err != nil && l.used && r.Method == http.MethodGet && r.Context().Err() == nil {
		l.drop() // the program had closed the idle connection
		response, err = l.exchange(r)
	}
	if err != nil {
		l.drop()
		l.busy.Unlock()
	}
	return response, err
}

func (l *line) exchange(r *http.Request) (*http.Response, error) {
	if err := l.connect(r.Context()); err != nil {
		return nil, err
	}
	conn := l.conn
	called := context.AfterFunc(r.Context(), func() { _ = conn.Close() }) // this ends every wait
	response, err := l.send(r)
	if err != nil {
		called()
		return nil, err
	}
	response.Body = &lineBody{ReadCloser: response.Body, line: l, called: called, last: response.Close}
	return response, nil
}

func (l *line) connect(ctx context.Context) (err error) {
	if l.conn != nil {
		return nil
	}
	l.conn, err = l.endpoint.dial(ctx, "", "")
	l.head.R = l.conn
	l.in, l.used = bufio.NewReader(&l.head), false
	return err
}

func (l *line) send(r *http.Request) (*http.Response, error) {
	l.head.N = protocol.MaxHeaderBytes
	if err := r.Write(l.conn); err != nil {
		return nil, err
	}
	response, err := http.ReadResponse(l.in, r)
	if l.head.N <= 0 {
		return nil, errors.New("its header is too long")
	}
	l.head.N = math.MaxInt64
	return response, err
}

// drop closes the connection.
func (l *line) drop() {
	if l.conn != nil {
		_ = l.conn.Close() // an error changes nothing
	}
	l.conn = nil
}

// CloseIdleConnections closes the connection when no request is under way.
func (l *line) CloseIdleConnections() {
	if l.busy.TryLock() {
		l.drop()
		l.busy.Unlock()
	}
}

// lineBody is the rest of an answer. At its end the line is free for the next request.
type lineBody struct {
	io.ReadCloser
	line   *line
	called func() bool // stops watching the request's context
	last   bool        // the program closes the connection after it
	over   bool
}

// Read reads the bytes that have arrived.
func (b *lineBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.end(!b.last)
	}
	return n, err
}

// Close closes the connection, unless the whole answer was read.
func (b *lineBody) Close() error {
	b.end(false)
	return nil
}

func (b *lineBody) end(good bool) {
	if b.over {
		return
	}
	b.over = true
	if l := b.line; b.called() && good {
		l.used = true
	} else {
		l.drop()
	}
	b.line.busy.Unlock()
}
