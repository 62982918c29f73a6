package collector

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/exposition"
)

// pretending serves this process's socket, where a probe would, until the test
// ends.
func pretending(t *testing.T, handler http.HandlerFunc) {
	t.Helper()
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Skip("programs are found through /proc, which is not here")
	}
	const start = 19 // counted from behind the command
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	folder, err := os.MkdirTemp("", "mt") // a socket's path is short
	fatal.If(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	t.Setenv("MEMTOP_DIR", folder)
	l, err := net.Listen("unix", filepath.Join(folder, fmt.Sprintf("%d-%s.sock", os.Getpid(), fields[start])))
	fatal.If(t, err)
	server := &http.Server{Handler: handler} //nolint:gosec // the only client is ours
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(l) }() // it ends with the server
}

func answers(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"version": 1, "step": 7, "devices": [{"device": 0, "allocated_bytes": 5}]}`)
}

// scrape asks the handler as Prometheus does.
func scrape(ctx context.Context, h http.Handler, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:9400/metrics", http.NoBody)
	r.Header.Set("Accept", "text/plain;version=0.0.4")
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// ofThisProcess returns the value of a metric of the pretended program, among
// those of others that may run here.
func ofThisProcess(t *testing.T, text, name string) (value float64, found bool) {
	t.Helper()
	for sample, v := range samplesOf(t, text) {
		if strings.HasPrefix(sample, name+"{") && strings.Contains(sample, `pid="`+strconv.Itoa(os.Getpid())+`"`) {
			value, found = v, true
		}
	}
	return value, found
}

func TestAScrapeShowsEveryProgram(t *testing.T) {
	pretending(t, answers)
	w := scrape(t.Context(), New(nil).handler(true), nil)
	if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != exposition.Text.ContentType() {
		t.Fatalf("got %d of %q: %s", w.Code, got, w.Body)
	}
	for name, want := range map[string]float64{"memtop_probe_up": 1, "memtop_allocated_bytes": 5} {
		if got, found := ofThisProcess(t, w.Body.String(), name); !found || got != want {
			t.Errorf("%s is %v, %v, want %v", name, got, found, want)
		}
	}
}

// TestASilentProgramHoldsUpNoScrape has a scraper that waits for two seconds: it
// gets an answer before the three that programs have otherwise.
func TestASilentProgramHoldsUpNoScrape(t *testing.T) {
	pretending(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	within, cancel := context.WithTimeout(t.Context(), attach.Patience)
	defer cancel()
	w := scrape(within, New(nil).handler(true), func(r *http.Request) { r.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", "2") })
	if within.Err() != nil {
		t.Error("the answer takes longer than the scraper waits")
	}
	if up, found := ofThisProcess(t, w.Body.String(), "memtop_probe_up"); up != 0 || !found {
		t.Errorf("it is up: %v, %v", up, found)
	}
	if _, found := ofThisProcess(t, w.Body.String(), "memtop_probe_problem"); !found || !strings.Contains(w.Body.String(), `reason="silent"`) {
		t.Errorf("there is no reason in\n%s", w.Body)
	}
}

func TestACollectionHasAPartOfTheScrapersPatience(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": patience, "10": 8 * time.Second, "60": patience, "1": 800 * time.Millisecond, "0.5": 400 * time.Millisecond,
		"0": patience, "-1": patience, "NaN": patience, "+Inf": patience, "soon": patience, "1e300": patience,
	} {
		got := within(http.Header{"X-Prometheus-Scrape-Timeout-Seconds": {header}})
		if got != want {
			t.Errorf("of %q a collection has %v, want %v", header, got, want)
		}
	}
}

func TestManyScrapesAskAProgramOnce(t *testing.T) {
	var asked atomic.Int64
	pretending(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); answers(w, r) })
	h := New(nil).handler(true)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if w := scrape(t.Context(), h, nil); w.Code != http.StatusOK {
				t.Errorf("got %d: %s", w.Code, w.Body)
			}
		})
	}
	all.Wait()
	if got := asked.Load(); got < 1 || got > 3 { // a second may go by on a busy machine
		t.Errorf("the program was asked %d times", got)
	}
}

func TestWhatIsNoScrapeIsRefused(t *testing.T) {
	tests := map[string]struct {
		local  bool
		change func(*http.Request)
		status int
	}{
		"another path":              {true, func(r *http.Request) { r.URL.Path = "/" }, http.StatusNotFound},
		"another method":            {true, func(r *http.Request) { r.Method = http.MethodPost }, http.StatusMethodNotAllowed},
		"another format":            {true, func(r *http.Request) { r.Header.Set("Accept", "application/json") }, http.StatusNotAcceptable},
		"a name that leads here":    {true, func(r *http.Request) { r.Host = "attacker.example:9400" }, http.StatusForbidden},
		"no name":                   {true, func(r *http.Request) { r.Host = "" }, http.StatusForbidden},
		"this machine's name":       {true, func(r *http.Request) { r.Host = "localhost:9400" }, http.StatusOK},
		"its other address":         {true, func(r *http.Request) { r.Host = "[::1]:9400" }, http.StatusOK},
		"that without a port":       {true, func(r *http.Request) { r.Host = "[::1]" }, http.StatusOK},
		"a name, to an open server": {false, func(r *http.Request) { r.Host = "gpu1.example:9400" }, http.StatusOK},
	}
	c := New(nil)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if w := scrape(t.Context(), c.handler(test.local), test.change); w.Code != test.status {
				t.Errorf("got %d: %s", w.Code, w.Body)
			}
		})
	}
}

// serving serves a collector until the test ends it, and returns its address.
func serving(t *testing.T) (address string, end func() error) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	fatal.If(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1) // written once
	go func() { done <- New(nil).Serve(ctx, l) }()
	return l.Addr().String(), func() error { cancel(); return <-done }
}

func TestServingEndsCleanly(t *testing.T) {
	asked := make(chan struct{}, 10)
	pretending(t, func(_ http.ResponseWriter, r *http.Request) { asked <- struct{}{}; <-r.Context().Done() })
	address, end := serving(t)
	c, err := net.Dial("unix", address)
	fatal.If(t, err)
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-asked // it is in the middle of a scrape
	if err := end(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("the scraper is cut off: %v", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the scraper gets %s", answer.Status)
	}
	if _, err := net.Dial("unix", address); err == nil {
		t.Error("it still listens")
	}
}

// TestWhoAsksNothingHoldsNoPlace takes all places and wants a scraper to be answered
// at once.
func TestWhoAsksNothingHoldsNoPlace(t *testing.T) {
	for name, request := range map[string]string{
		"connections that say nothing":         "",
		"connections in the middle of headers": "GET /metrics HTTP/1.1\r\nHost: local",
		"connections kept after an answer":     "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			address, end := serving(t)
			var first net.Conn
			for range maxConnections {
				c := saying(t, address, request)
				first = cmp.Or(first, c)
				if !strings.HasSuffix(request, "\r\n\r\n") {
					continue
				}
				if answer := answered(t, c); answer.StatusCode != http.StatusNotFound {
					t.Fatalf("got %s", answer.Status)
				}
			}
			for range 2 * maxConnections {
				if answer := answered(t, saying(t, address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")); answer.StatusCode != http.StatusNotFound {
					t.Fatalf("got %s", answer.Status)
				}
			}
			fatal.If(t, first.SetReadDeadline(time.Now().Add(readTimeout/2)))
			if _, err := first.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("nobody has given way")
			}
			fatal.If(t, end())
		})
	}
}

// TestWhereAllPlacesAskIsNoPlace has so many scrapers wait for a program that says
// nothing, and wants one more to be told so.
func TestWhereAllPlacesAskIsNoPlace(t *testing.T) {
	pretending(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	address, end := serving(t)
	const slow = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for asked := 1; ; asked++ { // until the server has read what enough of them ask
		if asked > 40*maxConnections { // a request that the server had no time to read gives way to the next
			t.Fatal("all are let in")
		}
		saying(t, address, slow)
		probe := saying(t, address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		answer := answered(t, probe)
		_ = probe.Close()
		if answer.StatusCode == http.StatusServiceUnavailable {
			break
		}
		if answer.StatusCode != http.StatusNotFound {
			t.Fatalf("got %s", answer.Status)
		}
	}
	fatal.If(t, end())
}

// saying connects to a server and says something.
func saying(t *testing.T, address, request string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", address)
	fatal.If(t, err)
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c
}

// answered returns the head of the answer that comes.
func answered(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	answer, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: http.MethodHead})
	if err != nil {
		t.Fatalf("there is no answer: %v", err)
	}
	_ = answer.Body.Close() // there is none
	return answer
}
