package probe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/wire"
)

// listening starts a probe for p that ends with the test.
func listening(t testing.TB, p Source, o Options) *Probe {
	t.Helper()
	if o.Dir == "" && o.Path == "" {
		o.Dir = filepath.Join(t.TempDir(), "probe")
	}
	probe, err := Listen(t.Context(), o, p)
	fatal.If(t, err)
	t.Cleanup(func() { _ = probe.Close() })
	return probe
}

// client asks a probe over its socket.
type client struct {
	*http.Client
	viewer string
}

func newClient(t testing.TB, p *Probe, viewer string) *client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, p.Path())
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{&http.Client{Transport: transport}, viewer}
}

func dial(ctx context.Context, path string) (net.Conn, error) {
	name, release, err := protocol.Reach(path)
	if err != nil {
		return nil, err
	}
	defer release()
	var d net.Dialer
	return d.DialContext(ctx, "unix", name)
}

func (c *client) request(ctx context.Context, t testing.TB, method, path, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://probe"+path, strings.NewReader(body))
	fatal.If(t, err)
	if c.viewer != "" {
		r.Header.Set("Memtop-Viewer", c.viewer)
	}
	answer, err := c.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer
}

// ask returns the answer's status and text.
func (c *client) ask(t testing.TB, method, path, body string) (int, string) {
	t.Helper()
	answer := c.request(t.Context(), t, method, path, body)
	defer shut(answer.Body)
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer.StatusCode, string(text)
}

// stream is an open stream whose frames a test reads one by one.
type stream struct {
	*wire.Decoder
	body   io.Closer
	cancel context.CancelFunc
}

func (c *client) stream(t testing.TB, query string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	answer := c.request(ctx, t, http.MethodGet, "/v1/stream"+query, "")
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		t.Fatalf("stream: %s: %s", answer.Status, text)
	}
	s := &stream{wire.NewDecoder(bufio.NewReader(answer.Body), wire.Limits{}), answer.Body, cancel}
	t.Cleanup(s.close)
	return s
}

func (s *stream) close() {
	s.cancel()
	_ = s.body.Close()
}

// next returns the next frame of that type, and fails the test when there is
// none.
func (s *stream) next(t testing.TB, kind wire.Type) wire.Frame {
	t.Helper()
	return s.until(t, "a frame of type "+kind.String(), func(f *wire.Frame) bool { return f.Type == kind })
}

func (s *stream) until(t testing.TB, what string, done func(*wire.Frame) bool) wire.Frame {
	t.Helper()
	for {
		f, err := s.Next()
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		if done(&f) {
			return f
		}
	}
}

// shut closes what a test has looked at.
func shut(c io.Closer) { _ = c.Close() }

// send sends what may be too little or too much for the other side, which then
// says so.
func send(t testing.TB, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func set(key, value string) string {
	return `{"set":{` + strconv.Quote(key) + `:` + strconv.Quote(value) + `}}`
}

var errNo = errors.New("the model is too small for that")
