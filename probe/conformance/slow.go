package conformance

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// slow is the begin of a request that never ends, or nonsense; the connection must
// end nevertheless.
var slow = []string{
	"GET /v1/info HTTP/1.1\r\nHost: x\r\nX-Slow:",
	"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
	"GET /v1/info HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<17) + "\r\n\r\n",
}

// examineSlow sends requests that do not end, and others that are none.
func (e *examination) examineSlow(ctx context.Context) {
	for _, text := range slow {
		said, err := e.raw(ctx, text)
		e.check("http.slow", err == nil, "an end of the connection", "after %.30q: still open after %v", text, slowWithin)
		e.check("http.slow", said == "" || strings.HasPrefix(said, "HTTP/1.1 4"), "no answer, or a refusal", "after %.30q: %.60s", text, said)
	}
	if !e.changeable() {
		e.unseen("http.408", noControl)
		return
	}
	said, err := e.raw(ctx, "POST /v1/settings HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	e.check("http.408", err == nil && strings.HasPrefix(said, "HTTP/1.1 408"), "status 408 for a body that does not come", "%.60s %v", said, errorOr(err, ""))
}

// raw sends bytes and returns how the answer begins, when the other side is done. The
// error says that it is not.
func (e *examination) raw(ctx context.Context, text string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, slowWithin)
	defer cancel()
	c, err := e.viewer.place.Connect(ctx)
	if err != nil {
		return "", nil //nolint:nilerr // it has no connection open
	}
	defer func() { _ = c.Close() }() // nothing more is wanted of it
	_ = c.SetDeadline(time.Now().Add(slowWithin))
	go func() { _, _ = io.WriteString(c, text) }() // the answer may come before all of it was taken
	said, err := io.ReadAll(io.LimitReader(c, maxAnswer))
	if strings.HasPrefix(string(said), "HTTP/1.1 4") || !errors.Is(err, os.ErrDeadlineExceeded) {
		return string(said), nil // it is refused, and who is refused may stay
	}
	return string(said), err
}

// fullBuffer is how much a stream must have sent, at least, to have been held up: what
// the system keeps of a socket's bytes on the usual machine is about twice as much.
const fullBuffer = 128 << 10

// idleFor is how long a viewer does not read that must be cut off: the page gives it
// five seconds.
const idleFor = 8 * time.Second

// examineIdler opens a stream and does not read it.
func (e *examination) examineIdler(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, idleFor+slowWithin)
	defer cancel()
	c, err := e.viewer.place.Connect(ctx)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }() // nothing more is wanted of it
	if _, err := io.WriteString(c, "GET /v1/stream?interval=50ms&past HTTP/1.1\r\nHost: memtop\r\nMemtop-Viewer: idle-"+e.viewer.name+"\r\n\r\n"); err != nil {
		return
	}
	select {
	case <-time.After(idleFor):
	case <-ctx.Done():
		return
	}
	waiting, ended := drain(c)
	switch {
	case ended:
		e.passed("http.idle")
	case waiting < fullBuffer:
		e.unseen("http.idle", "the program sent too little to hold a viewer up that does not read")
	default:
		e.broken("http.idle", "a viewer that takes nothing for five seconds is cut off", "after %v it is sent more, with %d bytes not taken", idleFor, waiting)
	}
}

// drain reads what is there at once, and reports whether nothing more comes.
func drain(c net.Conn) (bytes int, ended bool) {
	buffer := make([]byte, 1<<16)
	for bytes < maxSnapshot {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		n, err := c.Read(buffer)
		bytes += n
		if err != nil {
			return bytes, !errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
	return bytes, false
}

// maxSnapshot bounds what is read of an answer that nothing else bounds.
const maxSnapshot = 1 << 30

// places are how many viewers and connections a probe takes.
const viewerPlaces, connectionPlaces = 64, 128

// examineCrowd takes all places.
func (e *examination) examineCrowd(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range viewerPlaces + 1 {
		response, err := e.viewer.open(ctx, get("/v1/stream?interval=1m"))
		if err != nil {
			e.broken("http.503", "status 503", "%v", err)
			return
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode == http.StatusServiceUnavailable {
			e.passed("http.503")
			return
		}
	}
	e.broken("http.503", "status 503 for one more than 64 viewers", "%d viewers are let in", viewerPlaces+1)
}
