package attach

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// serving answers on a socket of its own with a handler, and returns its path.
func serving(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	return serve(t, filepath.Join(t.TempDir(), "s"), handler)
}

// serve answers on a socket until the test ends, and returns its path.
func serve(t *testing.T, path string, handler http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("unix", path)
	must(t, err)
	server := &http.Server{Handler: handler} //nolint:gosec // a test's client
	done := make(chan struct{})              // closed when the server has returned
	go func() { defer close(done); _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	return path
}

// goodStream returns what a program of 64 events streams until it ends.
func goodStream(t *testing.T) []byte {
	t.Helper()
	p := probetest.New()
	probe := listening(t, p, probe.Options{})
	e, err := locate(t.Context(), probe.Path())
	must(t, err)
	body, err := e.asker("").get(t.Context(), "/v1/stream?interval=50ms")
	must(t, err)
	defer shut(body)
	p.Run(probetest.Slots)
	p.Finish(probe)
	must(t, probe.Close())
	all, err := io.ReadAll(body)
	must(t, err)
	return all
}

// version returns a stream that claims to be of another version.
func ofVersion(stream []byte, version byte) []byte {
	changed := bytes.Clone(stream)
	changed[bytes.IndexByte(changed, '\n')+1] = version
	return changed
}

func TestProgramsThatSendAMalformedStream(t *testing.T) {
	good := goodStream(t)
	write := func(b []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(b) }
	}
	refuse := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, text, status) }
	}
	tests := map[string]struct {
		handler http.HandlerFunc
		says    string
	}{
		"nothing":             {write(nil), "ended its stream before it was complete"},
		"a web page":          {write([]byte("<html>")), "not a memtop stream"},
		"half a header":       {write(good[:4]), "ended its stream before it was complete"},
		"half a greeting":     {write(good[:20]), "ended its stream before it was complete"},
		"a newer version":     {write(ofVersion(good, wire.Version+1)), "update this program"},
		"an older version":    {write(ofVersion(good, wire.Version-1)), "update the other side"},
		"no greeting":         {write(good[:8]), "ended its stream before it was complete"},
		"a frame of 256 MiB":  {write(append(bytes.Clone(good[:8]), 0x0a, 0xff, 0xff, 0xff, 0x7f)), "sent a malformed stream: byte"},
		"a damaged greeting":  {write(append(bytes.Clone(good[:20]), make([]byte, 1<<16)...)), "sent a malformed stream: byte"},
		"somewhere else":      {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) }, "302"},
		"a lot of headers":    {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("A", strings.Repeat("a", 1<<20)) }, "header"},
		"too many viewers":    {refuse(503, `{"error":"64 viewers are watching already"}`), "64 viewers"},
		"another user":        {refuse(403, `{"error":"you are user 7"}`), "you are user 7"},
		"an error of no kind": {refuse(500, strings.Repeat("x", 1<<20)), "500"},
		"an error that steers terminals": {
			refuse(500, `{"error":"\u001b[2J gone"}`), `gone`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Dial(t.Context(), serving(t, test.handler), DialOptions{})
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("attaching gives %v, want an error that says %q", err, test.says)
			}
			if strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("the error is no line of text: %q", err)
			}
			if strings.Contains(name, "version") && !errors.As(err, new(*wire.VersionError)) {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

// TestAProgramWhoseHostIsEndingIsAskedAgain closes the first connections without an answer.
func TestAProgramWhoseHostIsEndingIsAskedAgain(t *testing.T) {
	for silent, says := range map[int32]string{dialTries - 1: "malformed", dialTries: "closed the connection without an answer"} {
		var asked atomic.Int32
		path := serving(t, func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) <= silent {
				panic(http.ErrAbortHandler)
			}
			_, _ = io.WriteString(w, `{"version": "one"}`)
		})
		if _, err := Dial(t.Context(), path, DialOptions{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("after %d connections: got %v, want an error that says %q", silent, err, says)
		}
	}
}

func TestAnotherProtocolIsSeenBeforeTheStream(t *testing.T) {
	for says, answer := range map[string]string{
		"update this program":       `{"version": 2}`,
		"update the other side":     `{"version": 0}`,
		"malformed":                 `{"version": "one"}`,
		"longer than 65536 bytes":   strings.Repeat(" ", maxInfo) + `{"version": 1}`,
		"no device":                 `{"version": 1}`,
		"not ascending":             `{"version": 1, "devices": [{"device": 1}, {"device": 1}]}`,
		"devices are not":           `{"version": 1, "devices": [{"device": 1024}]}`,
		"size is negative":          `{"version": 1, "devices": [{"requested_bytes": -1}]}`,
		"count is negative":         `{"version": 1, "devices": [{}], "viewers": -1}`,
		"last step is of no device": `{"version": 1, "devices": [{}], "last_step": {"device": -1}}`,
	} {
		path := serving(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })
		if _, err := Here.Record(t.Context(), path, RecordOptions{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.30s: got %v, want an error that says %q", answer, err, says)
		}
	}
}

// TestStreamsThatAreCutOrDamagedLeaveTheLastGoodState cuts a stream at
// many places and damages bytes there. The server does so at the first connection;
// later ones say nothing.
func TestStreamsThatAreCutOrDamagedLeaveTheLastGoodState(t *testing.T) {
	t.Parallel()
	good := goodStream(t)
	damage := map[string]func(at int) []byte{
		"cut":     func(at int) []byte { return good[:at] },
		"damaged": func(at int) []byte { b := bytes.Clone(good); b[at] ^= 0x5a; return b },
	}
	for name, damaged := range damage {
		t.Run(name, func(t *testing.T) {
			for at := 0; at < len(good); at += 1 + len(good)/13 {
				follow(t, damaged(at), at)
			}
		})
	}
}

// follow attaches to a program that streams these bytes and then nothing.
func follow(t *testing.T, stream []byte, at int) {
	t.Helper()
	first := true
	path := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			_, _ = w.Write(stream)
			return
		}
		w.WriteHeader(http.StatusForbidden)
	})
	c, err := Dial(t.Context(), path, DialOptions{})
	if err != nil {
		return // it saw the damage before there was a state
	}
	<-c.Ended()
	if last := c.Trace(); last.Live.Connected || last.Live.Note == "" || len(last.Devices) > 1 {
		t.Errorf("byte %d: the last state is %+v with %d devices", at, last.Live, len(last.Devices))
	}
	if err := c.Close(); err != nil {
		t.Errorf("byte %d: %v", at, err)
	}
}

func TestARecordingIsWhatWasStreamed(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, probe.Options{})
	p.Run(3)
	r, err := Here.Record(t.Context(), probe.Path(), RecordOptions{Interval: protocol.MinInterval, Steps: 2})
	must(t, err)
	file, done := recorded(t, r)
	probetest.Eventually(t, "a viewer", func() bool {
		info, err := r.target.asker.info(t.Context())
		return err == nil && info.Viewers == 1
	})
	p.Run(20)
	p.Finish(probe)
	p.Run(5)
	p.Finish(probe)
	kept := <-done
	if kept.Steps != 2 || kept.Events != 25 || kept.Snapshots || kept.Bytes != int64(file.Len()) || kept.Gaps != 0 {
		t.Errorf("recorded %+v, want two steps, 25 events and %d bytes", kept, file.Len())
	}
	got, err := wire.Read(t.Context(), bytes.NewReader(file.Bytes()), wire.Options{})
	must(t, err)
	if n := got.Devices[0].Events.Len(); n != 25 || len(got.Steps) != 2 || got.Info.Truncated {
		t.Errorf("the recording has %d events and %d steps, cut: %v; want 25 and 2", n, len(got.Steps), got.Info.Truncated)
	}
	// It is a whole recording at any moment: any frame may be the last.
	for at := range file.ends {
		got, err := wire.Read(t.Context(), bytes.NewReader(file.Bytes()[:file.ends[at]]), wire.Options{})
		if at > 0 && (err != nil || got.Info.Truncated) {
			t.Errorf("after %d writes: cut: %v, %v", at, got != nil && got.Info.Truncated, err)
		}
	}
}

// TestStepsBeforeTheFirstEventDoNotCount records a program that does not know its memory yet in its first step.
func TestStepsBeforeTheFirstEventDoNotCount(t *testing.T) {
	var stream bytes.Buffer
	e := wire.NewEncoder(&stream)
	e.Hello(&wire.Hello{Version: wire.Version, PID: os.Getpid(), Devices: []int{0}})
	e.Base(0, 0, new(trace.State), 0, "")
	e.Counters(wire.Counters{})
	for number := range int64(5) {
		if number > 0 {
			e.Events(0, number-1, []trace.Event{{Kind: trace.Alloc, Addr: uint64(number) << 20, Size: 512, Time: number}})
		}
		e.Step(&trace.Step{Number: number + 1, Time: number + 1})
	}
	must(t, e.Flush())
	path := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/stream" {
			_, _ = w.Write(stream.Bytes())
			return
		}
		fmt.Fprintf(w, `{"version": %d, "pid": %d, "devices": [{"device": 0}]}`, wire.Version, os.Getpid())
	})
	r, err := Here.Record(t.Context(), path, RecordOptions{Steps: 2})
	must(t, err)
	_, done := recorded(t, r)
	if kept := <-done; kept.Steps != 2 || kept.Events != 2 {
		t.Errorf("recorded %+v, want two steps with an event each", kept)
	}
}

// recorded runs a recording until it is over, and returns its file, which has the
// state at the begin already, and what will receive the outcome once.
func recorded(t *testing.T, r *Recording) (*growing, <-chan Recorded) {
	t.Helper()
	file, done := newGrowing(), make(chan Recorded)
	go func() {
		kept, err := r.Run(t.Context(), file)
		if err != nil {
			t.Errorf("recording: %v", err)
		}
		done <- kept
	}()
	<-file.some
	return file, done
}

// growing is a file that remembers where each write ended.
type growing struct {
	bytes.Buffer
	ends  []int
	begun bool
	some  chan struct{} // closed when the state at the begin is there
}

func newGrowing() *growing { return &growing{some: make(chan struct{})} }

// Write appends.
func (g *growing) Write(p []byte) (int, error) {
	n, err := g.Buffer.Write(p)
	g.ends = append(g.ends, g.Len())
	if wire.Type(p[0]) == wire.CountersFrame && !g.begun {
		g.begun = true
		close(g.some)
	}
	return n, err
}

func TestARecordingGoesOnAfterALostConnection(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, probe.Options{})
	relay := relaying(t, probe)
	r, err := Here.Record(t.Context(), relay.Addr().String(), RecordOptions{Interval: protocol.MinInterval, Steps: 2})
	must(t, err)
	file, done := recorded(t, r)
	relay.drop(false)
	probetest.Eventually(t, "the second stream", func() bool { return strings.Count(relay.sent(), "GET /v1/stream") == 2 })
	var kept Recorded
	probetest.Eventually(t, "two steps", func() bool {
		p.Run(1)
		p.Finish(probe)
		select {
		case kept = <-done:
			return true
		default:
			return false
		}
	})
	if kept.Gaps != 1 || kept.Steps != 2 {
		t.Errorf("recorded %+v, want one gap", kept)
	}
	got, err := wire.Read(t.Context(), bytes.NewReader(file.Bytes()), wire.Options{})
	if err != nil || got.Info.Truncated || got.Info.Kind != "recording" {
		t.Errorf("the recording is %+v, %v", got, err)
	}
}

// TestARecordingIsWholeIfItsProgramTakesAWhileToEnd has a program that still runs when its
// connection breaks, and no longer when the next one is refused.
func TestARecordingIsWholeIfItsProgramTakesAWhileToEnd(t *testing.T) {
	relay := relaying(t, listening(t, probetest.New(), probe.Options{}))
	r, err := Here.Record(t.Context(), relay.Addr().String(), RecordOptions{Interval: protocol.MinInterval})
	must(t, err)
	asked := 0
	r.target.runs = func() bool { asked++; return asked == 1 }
	file, done := recorded(t, r)
	relay.drop(true)
	if kept := <-done; kept.Gaps != 0 || kept.Reason != ended {
		t.Errorf("recorded %+v, want no gap and the program's end", kept)
	}
	if got, err := wire.Read(t.Context(), bytes.NewReader(file.Bytes()), wire.Options{}); err != nil || got.Info.Truncated {
		t.Errorf("the recording is %+v, %v", got, err)
	}
}
