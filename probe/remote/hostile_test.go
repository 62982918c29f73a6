package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// hostile are far ends that are no bridge, or a broken one.
var hostile = map[string]func(io.Reader, io.Writer){
	"silent":    func(in io.Reader, _ io.Writer) { _, _ = io.Copy(io.Discard, in) },
	"noisy":     func(_ io.Reader, out io.Writer) { _, _ = io.Copy(out, endless("all work and no play\n")) },
	"one line":  func(_ io.Reader, out io.Writer) { _, _ = io.Copy(out, endless("all work and no play")) },
	"newer":     func(_ io.Reader, out io.Writer) { fmt.Fprintf(out, "%s%d\n", greets, Version+1) },
	"no number": func(_ io.Reader, out io.Writer) { fmt.Fprintf(out, "%sone\n", greets) },
	"no HTTP": func(_ io.Reader, out io.Writer) {
		_ = greet(out)
		_, _ = io.Copy(out, endless("HTTP/1.1 200 OK\r\n\r\n"))
	},
	"falls mute": func(in io.Reader, out io.Writer) { _ = greet(out); _, _ = io.Copy(io.Discard, in) },
	"no answers": answering(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
	"endless":    answering(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, endless("[")) }),
	"no bridge":  answering(http.NotFound),
	"wordless": answering(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, "{}")
	}),
	"no info": answering(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[{"pid": 7}]`) }),
	"escapes": answering(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"pid": -7, "user": "\u001b]0;x\u0007", "command": "a\u001b[2Jb", "socket": "\u009b", "problem": {"no_probe": {"Socket": "\u001bc", "PID": 7}}},
			{"pid": 8, "problem": {"forbidden": {"Cause": "\u001b[31m", "Remedy": "\u001b[32m"}}}, {"pid": 9, "problem": {"other": "\r\n"}}]`)
	}),
}

// answering greets as a bridge does, and answers every request so.
func answering(handler http.HandlerFunc) func(io.Reader, io.Writer) {
	return func(in io.Reader, out io.Writer) {
		_ = greet(out)
		server := &http.Server{Handler: handler, Protocols: unencrypted(), ErrorLog: silent} //nolint:gosec // a test's client
		_ = server.Serve(&only{pipe: newPipe(in, out, func() {})})
	}
}

// endless repeats a text.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// quickly is how patient tests are.
const quickly = 500 * time.Millisecond

// pinging notices a silent link soon.
var pinging = limits{silence: 100 * time.Millisecond, pings: quickly}

func TestFarEndsThatAreNoBridge(t *testing.T) {
	const noBridge = "host gpu7: its output is not that of memtop bridge"
	tests := map[string]struct {
		limits limits
		says   string
	}{
		"silent":     {limits{greets: quickly}, "host gpu7: it does not answer"},
		"noisy":      {limits{}, noBridge},
		"one line":   {limits{}, noBridge},
		"newer":      {limits{}, "host gpu7: its memtop speaks version 2 of the bridge, and this one version 1"},
		"no number":  {limits{}, noBridge},
		"no HTTP":    {limits{}, "host gpu7: the connection broke off"},
		"falls mute": {pinging, "host gpu7: the connection broke off"},
		"no answers": {limits{answers: quickly}, "host gpu7: it does not answer"},
		"endless":    {limits{}, "the bridge on gpu7 sent a malformed answer: it is longer than 16777216 bytes"},
		"no bridge":  {limits{}, "the bridge on gpu7 sent a malformed answer: it answers 404"},
		"wordless":   {limits{}, "gpu7: something went wrong there, and its memtop does not say what"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			way := toActor(t, name)
			way.limits = test.limits
			m, err := Open(t.Context(), way, false)
			if err == nil {
				defer m.Close()
				_, err = m.Discover(t.Context())
			}
			if err == nil || err.Error() != test.says {
				t.Errorf("got %v, want %s", err, test.says)
			}
		})
	}
}

func TestWhatAFarEndSaysIsPrintable(t *testing.T) {
	for name, want := range map[string]int{"escapes": 3, "no info": 1} {
		m, err := Open(t.Context(), toActor(t, name), false)
		must(t, err)
		defer m.Close()
		found, err := m.Discover(t.Context())
		if err != nil || len(found) != want {
			t.Fatalf("%s: %+v and %v", name, found, err)
		}
		for _, p := range found {
			wantsPrintable(t, p)
		}
	}
}

func wantsPrintable(t *testing.T, p attach.Process) {
	t.Helper()
	if p.PID < 0 || p.Info == nil && p.Problem == nil || p.Info != nil && p.Problem != nil {
		t.Errorf("the process is %+v", p)
	}
	texts := []string{p.User, p.Command, p.Socket}
	if p.Problem != nil {
		texts = append(texts, p.Problem.Error())
	}
	for _, text := range texts {
		if text != trace.Printable(text) {
			t.Errorf("%q is not printable in %+v", text, p)
		}
	}
}

// TestASilentLinkIsNoticed stops a bridge, which then holds the connection and says
// nothing on it.
func TestASilentLinkIsNoticed(t *testing.T) {
	p := probetest.New()
	listening(t, p, probe.Options{})
	way := toActor(t, "bridge")
	way.limits = pinging
	m, err := Open(t.Context(), way, false)
	must(t, err)
	defer m.Close()
	c, err := attach.Through(m).Dial(t.Context(), ourselves(), attach.DialOptions{Interval: protocol.MinInterval})
	must(t, err)
	defer func() { _ = c.Close() }()
	stop(t, m.now.link.command.Process)
	lost := awaiting(t, c, "the loss", func(now *trace.Trace) bool { return !now.Live.Connected })
	if !strings.HasPrefix(lost.Live.Note, "lost host gpu7") {
		t.Errorf("it says %q", lost.Live.Note)
	}
	p.Run(10)
	awaiting(t, c, "the way back", func(now *trace.Trace) bool { return now.Live.Connected && now.Devices[0].Events.Len() == 10 })
}

// TestWhatACommandSaysWhenItFails has a shell play ssh and srun.
func TestWhatACommandSaysWhenItFails(t *testing.T) {
	tests := map[string]struct {
		script string
		says   string
		class  error
	}{
		"no memtop there":     {"echo 'bash: memtop: command not found' >&2; exit 127", "there is no memtop in its PATH", fs.ErrNotExist},
		"one that is no file": {"echo 'sh: 1: memtop: Permission denied' >&2; exit 126", "memtop cannot be run there: sh: 1: memtop: Permission denied", fs.ErrPermission},
		"an old memtop":       {`echo 'memtop: there is no command "bridge"; try: memtop help' >&2; exit 2`, "its memtop is too old to be a bridge", nil},
		"an unknown key":      {"printf 'No ED25519 host key is known for gpu7\\r\\nHost key verification failed.\\r\\n' >&2; exit 255", "Host key verification failed.", fs.ErrPermission},
		"no key of ours":      {"echo 'me@gpu7: Permission denied (publickey).' >&2; exit 255", "me@gpu7: Permission denied (publickey).", fs.ErrPermission},
		"an unknown name":     {"echo 'ssh: Could not resolve hostname gpu7: Name or service not known' >&2; exit 255", "Could not resolve hostname gpu7: Name or service not known", fs.ErrNotExist},
		"no sshd":             {"echo 'ssh: connect to host gpu7 port 22: Connection refused' >&2; exit 255", "connect to host gpu7 port 22: Connection refused", nil},
		"an escape":           {"printf 'ssh: \\033[2J\\n' >&2; exit 255", "�[2J", nil},
		"nothing":             {"exit 3", "sh ended with status 3", nil},
		"no more than that":   {"exit 0", "the connection broke off", nil},
		"a job that is over":  {"echo 'srun: error: Unable to confirm allocation for job 9: Invalid job id specified' >&2; exit 1", "Unable to confirm allocation for job 9: Invalid job id specified", fs.ErrNotExist},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			way := Way{host: "gpu7", program: "sh", options: []string{"-c", test.script}, memtop: "memtop", test: "a test"}
			_, err := Open(t.Context(), way, false)
			var host *attach.HostError
			if !errors.As(err, &host) || host.Cause != test.says || host.Remedy == "" || test.class != nil && !errors.Is(err, test.class) {
				t.Errorf("got %+v, want %s", err, test.says)
			}
			if name == "an old memtop" && !errors.As(err, new(*wire.VersionError)) {
				t.Errorf("%+v is not about a version", err)
			}
		})
	}
}

func TestAProgramThatIsNotHere(t *testing.T) {
	_, err := Open(t.Context(), Way{host: "gpu7", program: "/no/such/ssh", install: "install it"}, false)
	if err == nil || err.Error() != `host gpu7: there is no program "/no/such/ssh" here` || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestNoiseBeforeTheGreetingIsSkipped(t *testing.T) {
	t.Setenv(actor, "bridge")
	way := Way{host: "gpu7", program: "sh", options: []string{"-c", "echo Welcome to gpu7; printf 'no end'; exec " + os.Args[0]}}
	m, err := Open(t.Context(), way, false)
	must(t, err)
	defer m.Close()
	if _, err := m.Discover(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOpeningCanBeCalledOff(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	if _, err := Open(ctx, toActor(t, "silent"), true); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}
