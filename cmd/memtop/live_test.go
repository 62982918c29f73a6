package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/exposition"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/analysis/proposals"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"

	"github.com/rogpeppe/go-internal/testscript"
)

// trains starts memtrain as a process of its own, waits until it can be
// attached to, or with --probe off until it trains, and sets the variable to its
// pid and VARIABLE_SOCKET to its socket:
//
//	trains VARIABLE [FLAG...]
func trains(ts *testscript.TestScript, _ bool, args []string) {
	path, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(path) //nolint:noctx // the script's end ends it
	cmd.Args = append([]string{trainer, "--steps", "0", "--layers", "1", "--dim", "32", "--seq", "32", "--batch", "2"}, args[1:]...)
	cmd.Env = append(os.Environ(), "MEMTOP_DIR="+ts.Getenv("MEMTOP_DIR"), "MEMTOP_BLACK_BOX="+cmp.Or(ts.Getenv("MEMTOP_BLACK_BOX"), "off"))
	start(ts, cmd) // what it says first is what it is going to train: its probe is there
	ts.Setenv(args[0], strconv.Itoa(cmd.Process.Pid))
	if strings.Contains(strings.Join(args, " "), "--probe off") {
		return
	}
	within(ts, "an attachable trainer", func() bool {
		c, err := attach.Dial(context.Background(), strconv.Itoa(cmd.Process.Pid), attach.DialOptions{})
		if err != nil {
			return false
		}
		defer func() { _ = c.Close() }()
		ts.Setenv(args[0]+"_SOCKET", c.Process().Socket)
		return len(c.Trace().Steps) > 0
	})
}

// runs starts a command, waits until it says something, and sets the variable to
// its pid:
//
//	runs VARIABLE COMMAND...
func runs(ts *testscript.TestScript, _ bool, args []string) {
	cmd := exec.Command(args[1], args[2:]...) //nolint:noctx // the script's end ends it
	start(ts, cmd)
	ts.Setenv(args[0], strconv.Itoa(cmd.Process.Pid))
}

// within polls until done reports true.
func within(ts *testscript.TestScript, what string, done func() bool) {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(deadline); !done(); <-poll.C {
		if time.Now().After(end) {
			ts.Fatalf("%s: not within %v", what, deadline)
		}
	}
}

// speaks listens on a socket, and says that it speaks a version of the protocol
// until the script ends:
//
//	speaks SOCKET VERSION
func speaks(ts *testscript.TestScript, _ bool, args []string) {
	version, err := strconv.Atoi(args[1])
	ts.Check(err)
	l, err := net.Listen("unix", filepath.Clean(ts.MkAbs(args[0])))
	ts.Check(err)
	header := append([]byte("\x8fmtr\r\n"), byte(version), 0)
	server := &http.Server{ //nolint:gosec // the only client is ours
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/stream" {
				_, _ = w.Write(header)
				return
			}
			fmt.Fprintf(w, `{"version": %d}`, version)
		}),
	}
	go func() { _ = server.Serve(l) }() // it ends with the listener
	ts.Defer(func() { _ = server.Close() })
}

// lies listens on a socket, and answers everything with the bytes of a Go string
// literal until the script ends:
//
//	lies SOCKET LITERAL
func lies(ts *testscript.TestScript, _ bool, args []string) {
	answer, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	l, err := net.Listen("unix", filepath.Clean(ts.MkAbs(args[0])))
	ts.Check(err)
	server := &http.Server{ //nolint:gosec // the only client is ours
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }),
	}
	go func() { _ = server.Serve(l) }() // it ends with the listener
	ts.Defer(func() { _ = server.Close() })
}

// dwells listens on a socket as a program whose steps end and change no memory, until
// the script ends:
//
//	dwells SOCKET
func dwells(ts *testscript.TestScript, _ bool, args []string) {
	var stream bytes.Buffer
	e := wire.NewEncoder(&stream)
	e.Hello(&wire.Hello{Version: wire.Version, PID: os.Getpid(), Devices: []int{0}})
	e.Base(0, 0, new(trace.State), 0, "")
	e.Counters(wire.Counters{})
	for number := range int64(5) {
		e.Step(&trace.Step{Number: number + 1, Time: number + 1, Duration: 1})
	}
	ts.Check(e.Flush())
	l, err := net.Listen("unix", filepath.Clean(ts.MkAbs(args[0])))
	ts.Check(err)
	server := &http.Server{ //nolint:gosec // the only client is ours
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/stream" {
				_, _ = w.Write(stream.Bytes())
				return
			}
			fmt.Fprintf(w, `{"version": %d, "pid": %d, "devices": [{"device": 0}]}`, wire.Version, os.Getpid())
		}),
	}
	go func() { _ = server.Serve(l) }() // it ends with the listener
	ts.Defer(func() { _ = server.Close() })
}

// crowds opens as many connections to a socket, each for one request and then for
// another that does not come, until the script ends:
//
//	crowds SOCKET NUMBER
func crowds(ts *testscript.TestScript, _ bool, args []string) {
	number, err := strconv.Atoi(args[1])
	ts.Check(err)
	for range number {
		c, err := net.Dial("unix", args[0])
		ts.Check(err)
		ts.Defer(func() { _ = c.Close() })
		_, err = io.WriteString(c, "GET /v1/info HTTP/1.1\r\nHost: x\r\n\r\n")
		ts.Check(err)
	}
}

// silent listens where a probe of this test's process would, never answers until
// the script ends, and sets the variable to the process's pid:
//
//	silent VARIABLE
func silent(ts *testscript.TestScript, _ bool, args []string) {
	stat, err := os.ReadFile("/proc/self/stat")
	ts.Check(err)
	const start = 19 // counted from behind the command
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	ts.Check(os.MkdirAll(ts.Getenv("MEMTOP_DIR"), 0o700))
	l, err := net.Listen("unix", filepath.Join(ts.Getenv("MEMTOP_DIR"), fmt.Sprintf("%d-%s.sock", os.Getpid(), fields[start])))
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], strconv.Itoa(os.Getpid()))
}

// metrics has memtop serve, prints what a scraper gets in each format, checks it
// by the letter, and ends the server, which must leave with 0:
//
//	metrics FLAG...
func metrics(ts *testscript.TestScript, _ bool, args []string) {
	path, err := os.Executable()
	ts.Check(err)
	cmd := exec.Command(path, append([]string{"metrics"}, args...)...) //nolint:noctx // it is ended below
	cmd.Args[0] = "memtop"
	cmd.Env = append(os.Environ(), "MEMTOP_DIR="+ts.Getenv("MEMTOP_DIR"))
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(stderr).ReadString('\n')
	ts.Check(err)
	url := regexp.MustCompile(`http://\S+/metrics`).FindString(line)
	for format, accept := range map[exposition.Format]string{exposition.OpenMetrics: "*/*", exposition.Text: "text/plain"} {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
		ts.Check(err)
		request.Header.Set("Accept", accept)
		answer, err := http.DefaultClient.Do(request)
		ts.Check(err)
		text, err := io.ReadAll(answer.Body)
		ts.Check(errors.Join(err, answer.Body.Close()))
		if got := answer.Header.Get("Content-Type"); answer.StatusCode != http.StatusOK || got != format.ContentType() {
			ts.Fatalf("%s gives %s of %s", url, answer.Status, got)
		}
		fmt.Fprint(ts.Stdout(), string(text))
	}
	ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	ts.Check(cmd.Wait())
}

// leave makes a socket that nobody listens on:
//
//	leave SOCKET
func leave(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: ts.MkAbs(args[0]), Net: "unix"})
	ts.Check(err)
	l.SetUnlinkOnClose(false)
	ts.Check(l.Close())
}

// pace is the time of a step of the trainers that scripts start, with -short a longer
// one: the race detector has everything that looks at their past take twenty times
// as long.
func pace() time.Duration {
	if testing.Short() {
		return 100 * time.Millisecond
	}
	return 20 * time.Millisecond
}

// start runs a program until the script ends, and returns when it has said
// something. A trainer prints a line a step and waits while its pipe is full, so
// it makes as many steps a second as its lines are read: what is tested has the
// processors, and the trainer's past stays small.
func start(ts *testscript.TestScript, cmd *exec.Cmd) {
	cmd.Dir = ts.MkAbs(".")
	r, w, err := narrowPipe()
	ts.Check(err)
	cmd.Stdout = w
	ts.Check(cmd.Start())
	ts.Check(w.Close())
	lines := bufio.NewReaderSize(r, 1<<8)
	_, err = lines.ReadByte()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		readPaced(lines)
	}()
	ts.Defer(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); <-ended; _ = r.Close() })
	ts.Check(err)
}

// readPaced reads a line at a time, until the last one.
func readPaced(lines *bufio.Reader) {
	tick := time.NewTicker(pace())
	defer tick.Stop()
	for {
		switch _, err := lines.ReadSlice('\n'); {
		case err == nil:
			<-tick.C
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			_, _ = io.Copy(io.Discard, lines)
			return
		}
	}
}

// kills kills a process that trains, and sets another variable to its black box:
//
//	kills VARIABLE BOX
func kills(ts *testscript.TestScript, _ bool, args []string) {
	pid := end(ts, args[0])
	within(ts, "the box of an ended program", func() bool {
		boxes, err := protocol.Boxes(ts.Getenv("MEMTOP_BLACK_BOX"), "")
		ts.Check(err)
		for _, b := range boxes {
			if name := strconv.Itoa(pid) + "-"; !b.Held && len(filepath.Base(b.Path)) > len(name) && filepath.Base(b.Path)[:len(name)] == name {
				ts.Setenv(args[1], b.Path)
				return true
			}
		}
		return false
	})
}

// ends kills trainers that the script needs no more, so that what follows has the
// processors:
//
//	ends VARIABLE...
func ends(ts *testscript.TestScript, _ bool, args []string) {
	for _, variable := range args {
		end(ts, variable)
	}
}

func end(ts *testscript.TestScript, variable string) (pid int) {
	pid, err := strconv.Atoi(ts.Getenv(variable))
	ts.Check(err)
	process, err := os.FindProcess(pid)
	ts.Check(err)
	ts.Check(process.Kill())
	return pid
}

// toggles makes every change of a single setting that a process offers, and undoes
// it, as the keys of the screen and memtop set do: each must hold in a step.
//
//	toggles PID
func toggles(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := attach.Dial(ctx, args[0], attach.DialOptions{Interval: shortest})
	ts.Check(err)
	defer func() { _ = c.Close() }()
	options := c.Trace().Live.Options
	for _, change := range proposals.Candidates(options) {
		i := slices.IndexFunc(options, func(o trace.Option) bool { return o.Key == change.Key })
		for _, v := range []trace.Value{change, {Key: change.Key, Value: options[i].Value}} {
			ts.Check(holds(ctx, c, v))
		}
		ts.Logf("%s=%s and back to %s", change.Key, change.Value, options[i].Value)
	}
}

// holds makes a change and waits until a step has it.
func holds(ctx context.Context, c *attach.Client, v trace.Value) error {
	made, err := c.Set(ctx, v.Key, v.Value)
	if err != nil {
		return err
	}
	_, err = attach.Until(ctx, c, func(t *trace.Trace) bool {
		i := slices.IndexFunc(t.Live.Changes, func(o trace.Change) bool { return o.ID == made.ID })
		if i >= 0 {
			made = t.Live.Changes[i]
		}
		return made.State != trace.Pending
	})
	if err == nil && (made.State != trace.Applied || made.To != v.Value) {
		err = fmt.Errorf("%s=%s: %+v", v.Key, v.Value, made)
	}
	return err
}
