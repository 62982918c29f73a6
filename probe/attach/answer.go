package attach

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"
)

// # Waiting for an answer
//
// A program may be stopped, overloaded, broken or hostile. So everything that is
// awaited of it has an end: an answer in JSON must be complete within the asker's
// patience. A longer one must begin within it and go on arriving, which its reader
// acknowledges by heard. Only the time in which we wait counts: a disk that takes
// long to write what has come down is not the program's silence.

// answer is what a program answers, as it arrives. It is read by one goroutine.
type answer struct {
	from    *asker
	ctx     context.Context
	cancel  context.CancelCauseFunc
	body    io.ReadCloser
	doing   string      // names what is arriving, "" before it does
	silence *time.Timer // gives up when it fires
	limit   time.Duration
	left    time.Duration // of the limit, for the next waits together
	err     error         // of the last Read, io.EOF aside
}

// errSilent is why an answer that did not come in time was given up.
var errSilent = errors.New("it took too long")

// newAnswer returns an answer that may come until ctx is done or it takes too
// long. The wait has not begun yet.
func (a *asker) newAnswer(ctx context.Context) *answer {
	from := &answer{from: a, limit: a.patience, left: a.patience}
	from.ctx, from.cancel = context.WithCancelCause(ctx)
	from.silence = time.AfterFunc(a.patience, func() { from.cancel(errSilent) })
	from.silence.Stop()
	return from
}

// wait begins to wait for the program, until the function it returns is called.
func (a *answer) wait() (waited func()) {
	began := time.Now()
	a.silence.Reset(a.left)
	return func() {
		a.silence.Stop()
		a.left -= time.Since(began)
	}
}

// heard notes that the program has sent something worth waiting longer for.
func (a *answer) heard() { a.left = a.limit }

// Read reads what has arrived. An answer that breaks off is an
// io.ErrUnexpectedEOF.
func (a *answer) Read(p []byte) (int, error) {
	waited := a.wait()
	n, err := a.body.Read(p)
	waited()
	if err != nil && !errors.Is(err, io.EOF) {
		a.err = a.meant(err)
		err = a.err
	}
	return n, err
}

// Close gives the connection up, unless all of the answer was read.
func (a *answer) Close() error {
	a.stop()
	return a.body.Close()
}

func (a *answer) stop() {
	a.silence.Stop()
	a.cancel(nil)
}

// dialError is why there is no connection, and means what it says.
type dialError struct{ error }

// Why net/http cannot read an answer.
var (
	errHeader = errors.New("its HTTP header cannot be read")
	errChunks = errors.New("its HTTP chunks cannot be read")
)

// meant makes an error of the transport one that says what it means here: who
// called the request off, or what became of the connection.
func (a *answer) meant(err error) error {
	var dial dialError
	reason := context.Cause(a.ctx)
	switch who := a.from.endpoint; {
	case errors.Is(reason, errSilent), errors.Is(reason, context.DeadlineExceeded):
		return who.silent(a.doing)
	case reason != nil:
		return reason
	case errors.As(err, &dial):
		return dial.error
	case closed(err) && a.body != nil:
		return io.ErrUnexpectedEOF
	case closed(err):
		return who.orEnded(&RefusedError{who.String() + " closed the connection without an answer", "try again; it may have too many viewers", true})
	case a.body != nil:
		return who.orEnded(who.malformed("answer", errChunks))
	default:
		return who.orEnded(who.malformed("answer", errHeader))
	}
}

// closed reports whether an error says that the other side closed the connection.
func closed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// unreadable returns the error for an answer that arrived and cannot be read. The
// reason for which an answer was called off is passed on as it is.
func (a *answer) unreadable(what string, err error) error {
	if a.err != nil && !errors.Is(a.err, io.ErrUnexpectedEOF) {
		return a.err
	}
	return a.from.endpoint.orEnded(a.from.endpoint.malformed(what, err))
}
