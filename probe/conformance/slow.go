package conformance

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/memtop/memtop/probe/protocol"
)

// slow has beginnings of requests that never end, and text that is no request.
// The program must end the connection nevertheless.
var slow = []string{
	"GET /v1/info HTTP/1.1\r\nHost: x\r\nX-Slow:",
	"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
	"GET /v1/info HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<17) + "\r\n\r\n",
}

// examineSlow sends requests that do not end, and text that is no request.
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

// raw sends bytes and returns the beginning of the answer after the program has
// ended the connection. It returns an error if the program does not end it.
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
		return string(said), nil // the request is refused, and a refused connection may stay open
	}
	return string(said), err
}

// idleFor is how long the idle viewer does not read. The program must cut it off:
// the page gives a viewer five seconds.
const idleFor = 8 * time.Second

// examineIdler opens a stream and does not read it for a while. The contents of
// the stream then show whether the viewer delayed the program: a stream has
// counters at least every second.
func (e *examination) examineIdler(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, idleFor+answerWithin)
	defer cancel()
	response, err := e.viewer.open(ctx, get(asking{interval: protocol.MinInterval, past: true}.path()))
	if err != nil || response.StatusCode != http.StatusOK {
		return // that was said of another stream
	}
	defer func() { _ = response.Body.Close() }() // nothing more is wanted of it
	select {
	case <-time.After(idleFor):
	case <-ctx.Done():
		return
	}
	w := newWatcher(newLedger(), asking{}) // whose other findings are those of the other streams
	reading, start, end := window(ctx, answerWithin, 3*time.Second)
	defer end()
	w.batched = sync.OnceFunc(start)
	stop := context.AfterFunc(reading, func() { _ = response.Body.Close() })
	defer stop()
	w.read(reading, response.Body)
	e.judgeIdler(w, reading.Err() == nil)
}

func (e *examination) judgeIdler(w *watcher, cut bool) {
	held := time.Duration(0)
	for i := 1; i < len(w.counters); i++ {
		held = max(held, time.Duration(w.counters[i].Time-w.counters[i-1].Time)*time.Microsecond)
	}
	switch {
	case cut:
		e.passed("http.idle")
	case held < idleFor-patience:
		e.unseen("http.idle", "the program sent too little to be held up by a viewer that does not read")
	default:
		e.broken("http.idle", "a viewer that takes nothing for five seconds is cut off", "after %v in which nothing was taken it is sent more", held)
	}
}

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
