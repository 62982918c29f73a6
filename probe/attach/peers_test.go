package attach

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/wire"
)

// quickly is how long the tests of hostile programs wait for one.
const quickly = 150 * time.Millisecond

// hostile is what a program does with a connection when a request has come.
type hostile func(c net.Conn)

// listens serves connections in a hostile way until the test ends, and returns
// the socket.
func listens(t *testing.T, answer hostile) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	must(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer shut(c)
				defer context.AfterFunc(t.Context(), func() { shut(c) })()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					answer(c)
				}
			})
		}
	})
	t.Cleanup(func() { shut(l); all.Wait() })
	return path
}

// says sends texts.
func says(texts ...string) hostile {
	return func(c net.Conn) {
		for _, text := range texts {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

// hangs does something and then nothing.
func hangs(begin hostile) hostile {
	return func(c net.Conn) {
		begin(c)
		_, _ = c.Read(make([]byte, 1)) // until the other side leaves
	}
}

// repeats begins, and then says the same without end, with pauses.
func repeats(begin, again string, pause time.Duration) hostile {
	return func(c net.Conn) {
		for text := begin; ; text = again {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
			time.Sleep(pause)
		}
	}
}

const ok = "HTTP/1.1 200 OK\r\n\r\n"

func TestHostileProgramsAreGivenUpInOneLine(t *testing.T) {
	hello, settings := endlessBatch(t)
	programs := map[string]hostile{
		"says nothing":                     hangs(says()),
		"closes":                           says(),
		"is no HTTP":                       says("SSH-2.0-OpenSSH_9.6\r\n"),
		"is binary":                        says(strings.Repeat("\x00\xff", 5000)),
		"ends within the header":           says("HTTP/1.1 200 OK\r\nContent-"),
		"hangs within the header":          hangs(says("HTTP/1.1 200 OK\r\nContent-")),
		"sends a header without end":       repeats("HTTP/1.1 200 OK\r\n", "X: "+strings.Repeat("x", 1000)+"\r\n", 0),
		"sends nothing more":               says(ok),
		"hangs after the header":           hangs(says(ok)),
		"ends before its length":           says("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"),
		"has a negative length":            says("HTTP/1.1 200 OK\r\nContent-Length: -7\r\n\r\n"),
		"has a chunk of no length":         says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
		"ends within a chunk":              says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{"),
		"sends spaces without end":         repeats(ok, strings.Repeat(" ", 1<<16), 0),
		"sends a byte now and then":        repeats(ok+"{", " ", quickly/10),
		"sends JSON that is cut":           says(ok, `{"version": `),
		"sends JSON of another form":       says(ok, `{"version": {"a": []}, "changes": "none"}`),
		"sends JSON that is not an object": says(ok, `[1, 2]`),
		"sends JSON that is deep":          says(ok, strings.Repeat("[", 100_000)),
		"redirects":                        says("HTTP/1.1 302 Found\r\nLocation: http://example.com/\r\nContent-Length: 0\r\n\r\n"),
		"fails":                            says("HTTP/1.1 500 Internal Server Error\r\n\r\n<html>json: &{0xc000 EOF"),
		"fails without end":                hangs(says("HTTP/1.1 500 Internal Server Error\r\n\r\n{")),
		"fails at length":                  repeats("HTTP/1.1 500 Internal Server Error\r\n\r\n{", strings.Repeat(" ", 1<<16), 0),
		"is busy":                          says("HTTP/1.1 503 Service Unavailable\r\n\r\n", `{"error": "busy: close one"}`),
		"refuses":                          says("HTTP/1.1 403 Forbidden\r\n\r\n", `{"error": "you are user 7"}`),
		"has a holder":                     says("HTTP/1.1 409 Conflict\r\n\r\n", `{"error": "x", "holder": "`+"\x1b[2J"+`y"}`),
		"switches protocols":               hangs(says("HTTP/1.1 101 Switching Protocols\r\n\r\n")),
		"only continues":                   repeats("", "HTTP/1.1 100 Continue\r\n\r\n", quickly/20),
		"sends half of a stream":           says(ok, hello, settings[:len(settings)/2]),
		"sends a batch without end":        repeats(ok+hello, settings, quickly/20),
		"sends an endless pickle":          repeats(ok+"\x80\x04", strings.Repeat("N0", 1<<15), 0),
		"sends an endless list":            repeats(ok+"\x80\x04](", strings.Repeat("](", 1<<15), 0),
		"sends a pickle that runs":         says(ok, "\x80\x02cos\nsystem\n(X\x05\x00\x00\x00touchtR."),
		"sends a pickle of nothing":        says(ok, "\x80\x04N."),
		"sends a pickle that is cut":       says(ok, "\x80\x04}(\x8c\x08segments]"),
		"sends a pickle and goes on":       repeats(ok+"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces]u.", strings.Repeat("x", 1<<16), 0),
	}
	for name, program := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := listens(t, program)
			for call, try := range calls {
				began := time.Now()
				err := try(t.Context(), path)
				if err == nil {
					t.Errorf("%s: no error", call)
					continue
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("%s: given up after %v", call, took)
				}
				checkTold(t, call, err)
			}
		})
	}
}

func TestWhyASnapshotIsNotTaken(t *testing.T) {
	const whole = "\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces]u."
	tests := map[string]struct {
		program hostile
		want    string
	}{
		"longer than it may be": {repeats(ok+"\x80\x04", strings.Repeat("N0", 1<<15), 0), "too large: it is longer than 8388608 bytes"},
		"goes on":               {repeats(ok+whole, strings.Repeat("x", 1<<16), 0), "malformed snapshot: it goes on after its end"},
		"trickles":              {repeats(ok+"\x80\x04", "N0", quickly/10), "stopped sending its snapshot"},
		"cut by the program":    {says(ok, whole[:len(whole)-2]), "ended its snapshot before it was complete"},
		"cut on its way":        {says("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", whole), "ended its snapshot before it was complete"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := SnapshotOptions{MaxMemory: 8 << 20}
			if name == "trickles" {
				o.quiet = quickly
			}
			_, err := Here.Snapshot(t.Context(), listens(t, test.program), io.Discard, o)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// slowDisk takes longer for the first of what it is given than a program may be silent.
type slowDisk struct {
	writes int
	silent time.Duration
}

func (d *slowDisk) Write(p []byte) (int, error) {
	if d.writes++; d.writes == 1 {
		<-time.After(d.silent * 3 / 2)
	}
	return len(p), nil
}

func TestASlowDiskIsNotTheProgramsSilence(t *testing.T) {
	t.Parallel()
	const many = 1 << 20
	program := says(ok, "\x80\x04"+strings.Repeat("N0", many)+"}(\x8c\x08segments]\x8c\x0ddevice_traces]u.")
	const quiet = 10 * quickly // a busy machine does not let the program of this test wait that long
	disk := &slowDisk{silent: quiet}
	_, err := Here.Snapshot(t.Context(), listens(t, program), disk, SnapshotOptions{quiet: quiet})
	if err != nil || disk.writes < 2 {
		t.Errorf("after %d writes: %v", disk.writes, err)
	}
}

// endlessBatch returns the begin of a stream, and a frame that may follow it again
// and again.
func endlessBatch(t *testing.T) (begin, again string) {
	t.Helper()
	var to bytes.Buffer
	e := wire.NewEncoder(&to)
	e.Hello(&wire.Hello{Version: wire.Version, PID: 7})
	must(t, e.Flush())
	begin = to.String()
	e.Settings(nil)
	must(t, e.Flush())
	return begin, to.String()[len(begin):]
}

// calls are all that is asked of a program.
var calls = map[string]func(ctx context.Context, path string) error{
	"attach": func(ctx context.Context, path string) error {
		c, err := Dial(ctx, path, DialOptions{quiet: quickly})
		if err == nil {
			return c.Close()
		}
		return err
	},
	"record": func(ctx context.Context, path string) error {
		e, err := locate(ctx, path)
		if err != nil {
			return err
		}
		r := &Recording{target: e.target(DialOptions{Interval: protocol.MinInterval, quiet: quickly})}
		_, err = r.Run(ctx, io.Discard)
		return err
	},
	"snapshot": func(ctx context.Context, path string) error {
		_, err := Here.Snapshot(ctx, path, io.Discard, SnapshotOptions{MaxMemory: 8 << 20, quiet: quickly})
		return err
	},
	"info": func(ctx context.Context, path string) error {
		e, err := locate(ctx, path)
		if err != nil {
			return err
		}
		a := e.asker("")
		a.patience = quickly
		_, err = a.info(ctx)
		return err
	},
	"info of a teller": func(ctx context.Context, path string) error {
		teller, err := Here.Teller(ctx, path)
		if err != nil {
			return err
		}
		defer teller.Close()
		teller.asker.patience = quickly
		_, err = teller.Info(ctx)
		return err
	},
	"change": func(ctx context.Context, path string) error {
		e, err := locate(ctx, path)
		if err != nil {
			return err
		}
		c := &Client{}
		c.now.Store(e.target(DialOptions{quiet: quickly}))
		_, err = c.Set(ctx, "amp", "off")
		return err
	},
}

// jargon has words of Go's own errors, which only a programmer understands.
var jargon = []string{
	"json:", "unmarshal", "invalid character", "unexpected end of JSON",
	"net/http", "http:", "HTTP/1.x", "Get \"", "Post \"", "malformed chunked", "malformed HTTP", "transport connection",
	"EOF", "context canceled", "context deadline", "deadline exceeded", "i/o timeout", "use of closed",
	"dial unix", "dial tcp", "read unix", "write unix", "connect:", "sendto", "recvfrom",
	"connection reset", "broken pipe", "connection refused",
	"strconv.", "time: ", "syscall", "errno", "exec:", "fork/exec", "gzip:", "flate:", "base64", "pflag",
	"%!", "&{", "map[", "<nil>", "0xc0", "goroutine", "runtime error", "panic", ".go:",
	"*errors", "Error{", "probe.", "wire.", "pytorch.",
}

// checkTold checks that an error is one line of a user's words.
func checkTold(t *testing.T, call string, err error) {
	t.Helper()
	text := err.Error()
	t.Logf("%s: %s", call, text)
	for _, word := range jargon {
		if strings.Contains(text, word) {
			t.Errorf("%s: it says %q: %s", call, word, text)
		}
	}
	if strings.ContainsAny(text, "\x1b\n") {
		t.Errorf("%s: it is no line of text: %q", call, text)
	}
	known := false
	for _, kind := range []any{
		new(*SilentError), new(*EndlessError), new(*MalformedError), new(*RefusedError), new(*PermissionError), new(*protocol.HeldError), new(*wire.VersionError),
	} {
		known = known || errors.As(err, kind)
	}
	if !known {
		t.Errorf("%s: it is a %T", call, err)
	}
}
