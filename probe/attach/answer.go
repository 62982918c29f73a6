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
// A program may be stopped, overloaded, broken or hostile. So every wait for it
// has a limit. An answer in JSON must be complete within the asker's patience. A
// longer answer must begin within it and keep arriving; its reader confirms that
// by calling heard. Only the time in which the client waits counts: a slow disk
// that stores the answer is not the program's silence.

// answer is a program's answer, as it arrives. One goroutine reads it.
type answer struct {
	from    *asker
	ctx     context.Context
	cancel  context.CancelCauseFunc
	body    io.ReadCloser
	doing   string      // names what is arriving, "" before it arrives
	silence *time.Timer // gives up when it fires
	limit   time.Duration
	left    time.Duration // the rest of the limit, for all further waits together
	err     error         // of the last Read, except io.EOF
}

// errSilent is the reason for giving up an answer that did not arrive in time.
var errSilent = errors.New("it took too long")

// newAnswer returns an answer that may arrive until ctx is done or it takes too
// long. The wait has not begun yet.
func (a *asker) newAnswer(ctx context.Context) *answer {
	from := &answer{from: a, limit: a.patience, left: a.patience}
	from.ctx, from.cancel = context.WithCancelCause(ctx)
	from.silence = time.AfterFunc(a.patience, func() { from.cancel(errSilent) })
	from.silence.Stop()
	return from
}

// wait begins to wait for the program, and returns the function that ends the
// wait.
func (a *answer) wait() (waited func()) {
	began := time.Now()
	a.silence.Reset(a.left)
	return func() {
		a.silence.Stop()
		a.left -= time.Since(began)
	}
}

// heard notes progress of the answer: the wait starts again.
func (a *answer) heard() { a.left = a.limit }

// Read reads the bytes that have arrived. It returns io.ErrUnexpectedEOF for an
// answer that breaks off.
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

// Close closes the connection, unless the whole answer was read.
func (a *answer) Close() error {
	a.stop()
	return a.body.Close()
}

func (a *answer) stop() {
	a.silence.Stop()
	a.cancel(nil)
}

// dialError is a failure to connect whose error needs no translation.
type dialError struct{ error }

// Reasons why net/http cannot read an answer.
var (
	errHeader = errors.New("its HTTP header cannot be read")
	errChunks = errors.New("its HTTP chunks cannot be read")
)

// meant turns an error of the transport into one for the user: it says what ended
// the request or the connection.
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
		return who.orEnded(&RefusedError{
			Cause: who.String() + " closed the connection without an answer", Remedy: "try again; it may have too many viewers", Busy: true, unanswered: true,
		})
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

// unreadable returns the error for an answer that arrived but cannot be read. If
// the client itself ended the answer, the error is the client's reason.
func (a *answer) unreadable(what string, err error) error {
	if a.err != nil && !errors.Is(a.err, io.ErrUnexpectedEOF) {
		return a.err
	}
	return a.from.endpoint.orEnded(a.from.endpoint.malformed(what, err))
}
