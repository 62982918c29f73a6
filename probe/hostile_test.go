package probe

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/wire"
)

// impatient is what tests wait for that others wait seconds for.
var impatient = limits{request: 100 * time.Millisecond, reply: 100 * time.Millisecond}

func TestHostileRequestsAreRefusedInOneLine(t *testing.T) {
	tests := map[string]struct {
		request string
		status  int
		says    string
	}{
		"no HTTP":                 {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 400, ""},
		"huge headers":            {"GET /v1/info HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 1<<17) + "\r\n\r\n", 431, ""},
		"a wrong method":          {"DELETE /v1/settings HTTP/1.1\r\nHost: x\r\n\r\n", 405, "/v1/settings takes GET and POST"},
		"another wrong method":    {"POST /v1/info HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 405, "/v1/info takes GET"},
		"a path out of the tree":  {"GET /v1/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404, "there is nothing at"},
		"a path of escapes":       {"GET /%1b[2J HTTP/1.1\r\nHost: x\r\n\r\n", 404, `there is nothing at "/\x1b[2J"`},
		"no JSON":                 post(`{"set":`, 400),
		"JSON of something else":  post(`[1,2,3]`, 400),
		"nothing to set":          post(`{"set":{}}`, 400),
		"a step to begin with":    post(`{"set":{"amp":"off"},"at":7}`, 400),
		"a value that is no text": post(`{"set":{"amp":{"$ne":1}}}`, 400),
		"a deep value":            post(strings.Repeat(`{"set":`, 20_000), 413),
		"a long value":            post(set("amp", strings.Repeat("x", 2000)), 400),
		"a huge body":             post(set("amp", strings.Repeat("x", 1<<17)), 413),
		"a body without an end":   {"POST /v1/settings HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", 408, "the request did not arrive"},
		"a bad interval":          {"GET /v1/stream?interval=soon HTTP/1.1\r\nHost: x\r\n\r\n", 400, "interval must be a duration"},
		"a checksum of no name":   {"GET /v1/stream?checksum=md5 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "checksum must be"},
		"a bad name":              {"GET /v1/stream HTTP/1.1\r\nHost: x\r\nMemtop-Viewer: caf\xc3\xa9\r\n\r\n", 400, "Memtop-Viewer takes"},
		"a long name":             {"GET /v1/stream HTTP/1.1\r\nHost: x\r\nMemtop-Viewer: " + strings.Repeat("x", 65) + "\r\n\r\n", 400, "Memtop-Viewer takes"},
	}
	p := probetest.New()
	probe := listening(t, p, Options{Control: p, limits: limits{request: 2 * time.Second}})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := dial(t.Context(), probe.Path())
			fatal.If(t, err)
			defer shut(c)
			go io.WriteString(c, test.request) //nolint:errcheck // the answer may come before all of it was taken
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			fatal.If(t, err)
			defer shut(answer.Body)
			text, _ := io.ReadAll(answer.Body)
			if answer.StatusCode != test.status {
				t.Errorf("got %s: %s", answer.Status, text)
			}
			var said struct{ Error string }
			if test.says == "" {
				return // answered before it was a request
			}
			if json.Unmarshal(text, &said) != nil || !strings.Contains(said.Error, test.says) || strings.Count(string(text), "\n") != 1 {
				t.Errorf("got %q, want one line of JSON with %q", text, test.says)
			}
		})
	}
	if status, text := newClient(t, probe, "").ask(t, http.MethodGet, "/v1/info", ""); status != 200 {
		t.Errorf("afterwards: %d %s", status, text)
	}
}

type rawRequest = struct {
	request string
	status  int
	says    string
}

func post(body string, status int) rawRequest {
	says := "the body must be"
	switch {
	case strings.Contains(body, `"at"`):
		says = "not from one that is named"
	case status == http.StatusRequestEntityTooLarge:
		says = "a request may have"
	case strings.Contains(body, "xxx"):
		says = "a setting may have"
	}
	return rawRequest{
		"POST /v1/settings HTTP/1.1\r\nHost: x\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body, status, says,
	}
}

// TestPeersThatSayNothingAreClosed has peers that connect and stop, at
// different points of a request.
func TestPeersThatSayNothingAreClosed(t *testing.T) {
	probe := listening(t, probetest.New(), Options{limits: impatient})
	for _, begin := range []string{"", "G", "GET /v1/info HT", "GET /v1/info HTTP/1.1\r\nHost: x\r\nX-Slow:"} {
		c, err := dial(t.Context(), probe.Path())
		fatal.If(t, err)
		send(t, c, begin)
		fatal.If(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("after %q the connection stays: %v", begin, err)
		}
		shut(c)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	probe := listening(t, probetest.New(), Options{})
	var open []net.Conn
	for range maxConnections {
		c, err := dial(t.Context(), probe.Path())
		fatal.If(t, err)
		open = append(open, c)
	}
	for i := range 3 * maxTurnedAway {
		status, text := newClient(t, probe, "").ask(t, http.MethodGet, "/v1/info", "")
		if status != http.StatusServiceUnavailable || !strings.Contains(text, "128 connections are open") {
			t.Fatalf("one more, number %d: %d %s", i, status, text)
		}
	}
	var busy *attach.RefusedError
	if _, err := attach.Dial(t.Context(), probe.Path(), attach.DialOptions{}); !errors.As(err, &busy) || !busy.Busy {
		t.Errorf("attaching gives %v", err)
	}
	for _, c := range open {
		shut(c)
	}
	probetest.Eventually(t, "room for others", func() bool {
		answer, err := newClient(t, probe, "").Get("http://probe/v1/info")
		if err != nil {
			return false
		}
		defer shut(answer.Body)
		return answer.StatusCode == http.StatusOK
	})
}

func TestAViewerThatHasHungUpHalfwayIsLeft(t *testing.T) {
	probe := listening(t, probetest.New(), Options{})
	c, err := dial(t.Context(), probe.Path())
	fatal.If(t, err)
	defer shut(c)
	send(t, c, "GET /v1/stream?interval=60s HTTP/1.1\r\nHost: x\r\n\r\n")
	probetest.Eventually(t, "the viewer to be there", func() bool { return probe.viewers.count() == 1 })
	fatal.If(t, c.(*net.UnixConn).CloseWrite())
	probetest.Eventually(t, "the viewer to be gone", func() bool { return probe.viewers.count() == 0 })
}

// TestAViewerThatDoesNotReadIsLeftAndBeginsAgain is a viewer that was stopped:
// it takes nothing while the program goes on, and comes back.
func TestAViewerThatDoesNotReadIsLeftAndBeginsAgain(t *testing.T) {
	t.Parallel()
	p := probetest.New()
	probe := listening(t, p, Options{limits: impatient, Ring: 1 << 14})
	c := newClient(t, probe, "stopped")
	s := c.stream(t, "?interval=50ms")
	s.next(t, wire.CountersFrame)
	probetest.Eventually(t, "the viewer to be left", func() bool {
		p.Run(10_000)
		return probe.viewers.count() == 0
	})
	last := p.Events
	for { // what was on its way arrives, cut off at the end
		if _, err := s.Next(); err != nil {
			break
		}
	}
	again := c.stream(t, "")
	at := again.next(t, wire.BaseFrame).First
	if at < last-1<<14 || at > last {
		t.Errorf("on its return the viewer is told from event %d on, of %d", at, last)
	}
	for at < last { // the state may be one that another viewer began with
		f := again.next(t, wire.EventsFrame)
		if f.First != at {
			t.Fatalf("events begin with %d, want %d", f.First, at)
		}
		at += int64(len(f.Events))
	}
}

// TestAViewerThatFallsBehindIsToldHowMuchItMissed lets the ring go round while
// a session writes.
func TestAViewerThatFallsBehindIsToldHowMuchItMissed(t *testing.T) {
	p := probetest.New()
	probe := listening(t, p, Options{Ring: 1 << 12})
	s := newClient(t, probe, "").stream(t, "?interval=50ms")
	at := s.next(t, wire.BaseFrame).First
	s.next(t, wire.CountersFrame)
	p.Run(1 << 20) // much more than the ring and the socket hold
	told, missed := int64(0), int64(0)
	for told+missed < 1<<20 {
		f := s.until(t, "events", func(f *wire.Frame) bool { return f.Type == wire.EventsFrame || f.Type == wire.BaseFrame })
		if f.Type == wire.BaseFrame {
			if f.Missed != f.First-at || f.Reason == "" {
				t.Fatalf("a gap of %d before event %d, after %d, because %q", f.Missed, f.First, at, f.Reason)
			}
			missed += f.Missed
			at = f.First
			continue
		}
		if f.First != at {
			t.Fatalf("events begin with %d, want %d", f.First, at)
		}
		told += int64(len(f.Events))
		at += int64(len(f.Events))
	}
	if _, dropped := probe.Cost(); missed == 0 || dropped != missed {
		t.Errorf("missed %d, the probe counts %d", missed, dropped)
	}
}

func TestAThousandConnectsAndFiftyViewersLeaveNothingBehind(t *testing.T) {
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	p := probetest.New()
	probe, err := Listen(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "probe")}, p)
	fatal.If(t, err)
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				p.RunAt(5_000, 50)
			}
		}
	})
	for i := range 1000 {
		connectAndLeave(t, probe, i)
	}
	t.Logf("the program was asked for its state %d times", p.Asked())
	fiftyViewers(t, probe)
	close(stop)
	running.Wait()
	fatal.If(t, probe.Close())
	probetest.Eventually(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= goroutines })
	probetest.Eventually(t, "files to be closed", func() bool { return openFiles(t) <= files })
}

// connectAndLeave is one of many viewers, each of which leaves elsewhere.
func connectAndLeave(t *testing.T, probe *Probe, i int) {
	t.Helper()
	c, err := dial(t.Context(), probe.Path())
	if err != nil {
		t.Fatalf("connect %d: %v", i, err)
	}
	defer shut(c)
	switch i % 4 {
	case 0: // at once
	case 1:
		send(t, c, "GET /v1/info HT")
	case 2:
		send(t, c, "GET /v1/stream HTTP/1.1\r\nHost: x\r\n\r\n")
	case 3:
		send(t, c, "GET /v1/stream?interval=50ms HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := io.ReadFull(c, make([]byte, 512)); err != nil {
			t.Fatalf("connect %d: %v", i, err)
		}
	}
}

// fiftyViewers has fifty viewers watch at once, as many more as are let in, and
// one too many.
func fiftyViewers(t *testing.T, probe *Probe) {
	t.Helper()
	probetest.Eventually(t, "the viewers before to be gone", func() bool { return probe.viewers.count() == 0 })
	c := newClient(t, probe, "")
	defer c.CloseIdleConnections()
	var seen, gone sync.WaitGroup
	defer gone.Wait() // when all are closed
	for i := range maxViewers {
		s := c.stream(t, "?interval=200ms")
		defer s.close()
		seen.Add(1)
		gone.Go(func() { watchSome(t, i, s, &seen) })
	}
	answer := c.request(t.Context(), t, http.MethodGet, "/v1/stream", "")
	defer shut(answer.Body)
	text := make([]byte, 512)
	n, _ := io.ReadAtLeast(answer.Body, text, 1)
	if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text[:n]), "64 viewers are watching already") {
		t.Errorf("one more: %s %s", answer.Status, text[:n])
	}
	seen.Wait()
}

// watchSome reads a stream to its end and tells when it has seen enough runs of
// events, each going on where the one before ended.
func watchSome(t *testing.T, i int, s *stream, seen *sync.WaitGroup) {
	t.Helper()
	const enough = 5
	at, n := int64(-1), 0
	for {
		f, err := s.Next()
		if err != nil && n < enough {
			t.Errorf("viewer %d: %v", i, err)
			seen.Done()
		}
		if err != nil {
			return
		}
		switch f.Type {
		case wire.BaseFrame:
			at = f.First
		case wire.EventsFrame:
			if f.First != at {
				t.Errorf("viewer %d: events begin with %d, want %d", i, f.First, at)
			}
			at += int64(len(f.Events))
			if n++; n == enough {
				seen.Done()
			}
		default:
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0 // not known
	}
	entries, err := os.ReadDir("/proc/self/fd")
	fatal.If(t, err)
	return len(entries)
}
