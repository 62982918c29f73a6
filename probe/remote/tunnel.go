package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
)

// tunnel is a connection to a program through a link: the body of a request and that
// of its answer.
type tunnel struct {
	bare
	request  *io.PipeWriter
	response io.ReadCloser
	cancel   context.CancelFunc
}

// open opens a stream of the link and waits until the far end has answered it.
// The tunnel outlives ctx, which is for opening only.
func (l *link) open(ctx context.Context, path string) (net.Conn, *http.Response, error) {
	body, request := io.Pipe()
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	called := context.AfterFunc(ctx, cancel)
	response, err := l.send(lasting, http.MethodPost, path, body)
	if !called() && err == nil {
		_ = response.Body.Close() // the caller cancelled it
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return &tunnel{request: request, response: response.Body, cancel: cancel}, response, nil
}

// Read reads what the program sent. When the link is lost the connection breaks
// off, as it would without a bridge.
func (t *tunnel) Read(p []byte) (int, error) {
	n, err := t.response.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Write sends to the program.
func (t *tunnel) Write(p []byte) (int, error) { return t.request.Write(p) }

// Close ends the connection.
func (t *tunnel) Close() error {
	t.cancel()
	_ = t.request.Close() // closing a pipe cannot fail
	return t.response.Close()
}
