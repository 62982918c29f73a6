package remote

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"time"
)

// link is a running bridge, with the connection to it. Safe for concurrent use.
type link struct {
	command *exec.Cmd
	in      io.Closer // the bridge's standard input: closing it ends the bridge
	said    *tail     // the command's standard error
	pipe    *pipe
	http    *http.ClientConn // nil until the bridge has greeted
	ended   chan struct{}    // closed when the command has ended
	failure error            // of the command; valid after ended
}

// How long a command may take to end after its standard input was closed, and
// then after a signal.
const (
	endsWithin = 2 * time.Second
	letGo      = time.Second // of pipes that children of the command keep open
)

// ahead is how many unread bytes of a stream may wait here.
const ahead = 1 << 20

// start starts the command of a way, and waits for the bridge's greeting or until
// ctx is done. The error says what the command did instead.
func start(ctx context.Context, w *Way, ask bool) (*link, error) {
	l := &link{command: exec.Command(w.program, w.arguments(ask)...), said: new(tail), ended: make(chan struct{})} //nolint:noctx // closing its input ends it, see reap
	l.command.Stderr, l.command.WaitDelay = l.said, letGo
	in, err := l.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := l.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.command.Start(); err != nil {
		return nil, &notStartedError{w.program, err}
	}
	l.in = in
	read := bufio.NewReader(out)
	l.pipe = newPipe(read, in, func() { go l.reap() })
	defer context.AfterFunc(ctx, l.kill)()
	if err := l.meet(ctx, read, w.limits.filled()); err != nil {
		off := context.Cause(ctx)
		if l.close(); errors.Is(err, errNoise) {
			l.kill()
		}
		<-l.ended
		return nil, cmp.Or(off, l.because(err))
	}
	return l, nil
}

// meet waits for the greeting, and begins to speak HTTP/2.
func (l *link) meet(ctx context.Context, r *bufio.Reader, limits limits) error {
	version, err := awaitGreeting(r)
	if err != nil {
		return err
	}
	if version != Version {
		return &versionError{version}
	}
	transport := &http.Transport{
		Protocols:          unencrypted(),
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return l.pipe, nil },
		DisableCompression: true,
		HTTP2:              &http.HTTP2Config{MaxReceiveBufferPerStream: ahead, SendPingTimeout: limits.silence, PingTimeout: limits.pings},
	}
	l.http, err = transport.NewClientConn(ctx, "http", "bridge:80")
	return err
}

// close ends the bridge. It does not wait.
func (l *link) close() { _ = l.pipe.Close() }

// kill ends a bridge by force.
func (l *link) kill() {
	l.close()
	_ = l.command.Process.Kill() // it may have ended
}

// reap ends the command: by the end of its input, or else by force.
func (l *link) reap() {
	defer close(l.ended)
	_ = l.in.Close() // an error does not matter
	kill := time.AfterFunc(endsWithin, func() { _ = l.command.Process.Kill() })
	defer kill.Stop()
	l.failure = l.command.Wait()
}

// lost reports whether the link is broken.
func (l *link) lost() bool {
	select {
	case <-l.pipe.closed:
		return true
	default:
		return l.http.Err() != nil
	}
}

// send sends a request to the far end. The caller closes the answer.
func (l *link) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://bridge"+path, body)
	if err != nil {
		return nil, err
	}
	response, err := l.http.RoundTrip(request)
	if err != nil && ctx.Err() == nil {
		return nil, errors.Join(errLost, err)
	}
	return response, err
}

// errLost means that a link broke during use.
var errLost = errors.New("the connection broke off")

// tail keeps the end of a command's output. Safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is how many bytes are kept.
const maxTail = 4 << 10

// Write appends p, and keeps the end.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxTail):]...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
