package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// line is memtop at the other end of a terminal's line: all that it writes is
// kept, and how the terminal is set stays known after its end.
type line struct {
	t           *testing.T
	cmd         *exec.Cmd
	here, there *os.File // the ends of the pseudo-terminal
	before      *unix.Termios
	read        chan struct{} // closed by follow at the end of the output

	mu      sync.Mutex
	output  []byte
	changed chan struct{} // closed and replaced by follow when output came
}

// newLine returns the test binary under a name, see TestMain, on a terminal. It is
// still to be started.
func newLine(t *testing.T, name string, arguments ...string) *line {
	t.Helper()
	here, there, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal to be had: %v", err)
	}
	program, err := os.Executable()
	fatal.If(t, err)
	l := &line{t: t, here: unblocked(t, here), there: there, read: make(chan struct{}), changed: make(chan struct{})}
	l.before = l.settings()
	l.cmd = exec.CommandContext(t.Context(), program, arguments...)
	l.cmd.Args[0] = name
	l.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	return l
}

// unblocked returns a file again, so that closing it ends a read of it.
func unblocked(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0) // the program must not have it too
	fatal.If(t, err, unix.SetNonblock(fd, true), f.Close())
	return os.NewFile(uintptr(fd), f.Name())
}

// start starts the program. Its standard input is the terminal unless it has one.
func (l *line) start() {
	l.t.Helper()
	fatal.If(l.t, pty.Setsize(l.there, &pty.Winsize{Cols: 100, Rows: 30}))
	if l.cmd.Stdin == nil {
		l.cmd.Stdin = l.there
	}
	l.cmd.Stdout, l.cmd.Stderr = l.there, l.there
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	fatal.If(l.t, l.cmd.Start())
	l.t.Cleanup(func() { _, _, _ = l.here.Close(), l.there.Close(), l.cmd.Process.Kill() }) // most have ended
	go l.follow()
}

// settings returns how the terminal is set.
func (l *line) settings() *unix.Termios {
	l.t.Helper()
	settings, err := unix.IoctlGetTermios(int(l.there.Fd()), unix.TCGETS)
	fatal.If(l.t, err)
	return settings
}

func (l *line) follow() {
	defer close(l.read)
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.here.Read(buffer)
		l.mu.Lock()
		l.output = append(l.output, buffer[:n]...)
		close(l.changed)
		l.changed = make(chan struct{})
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// see waits until the output has a text.
func (l *line) see(text string) {
	l.t.Helper()
	late := time.After(deadline)
	for {
		l.mu.Lock()
		seen, changed := bytes.Contains(l.output, []byte(text)), l.changed
		l.mu.Unlock()
		if seen {
			return
		}
		select {
		case <-changed:
		case <-l.read:
			l.t.Fatalf("the output ended without %q: %q", text, l.output)
		case <-late:
			l.t.Fatalf("there is no %q in the output", text)
		}
	}
}

// exit waits for the program to end and returns its exit code.
func (l *line) exit() int {
	l.t.Helper()
	done := make(chan struct{}) // closed when the program has ended
	go func() {
		defer close(done)
		_ = l.cmd.Wait() // its code is asked for next
	}()
	select {
	case <-done:
		return l.cmd.ProcessState.ExitCode()
	case <-time.After(deadline):
		l.t.Fatal("the program does not end")
		return 0
	}
}

// aStack is how the stack of a fault begins, and not how the race detector, which
// finds that Bubble Tea closes a keyboard it reads, names a goroutine.
var aStack = regexp.MustCompile(`goroutine \d+ [^:]*\[`)

// wantEnded checks that the program ends with a code and a line as its last, and
// that the terminal is then as it was before.
func (l *line) wantEnded(code int, last string) {
	l.t.Helper()
	if got := l.exit(); got != code {
		l.t.Errorf("exit code %d, want %d", got, code)
	}
	l.wantSettings()
	_ = l.there.Close() // what was written can still be read
	<-l.read
	output := string(l.output)
	for what, mode := range map[string][2]string{
		"the main screen": {"\x1b[?1049h", "\x1b[?1049l"}, "a cursor": {"\x1b[?25l", "\x1b[?25h"},
		"buttons": {"\x1b[?1002h", "\x1b[?1002l"}, "movements": {"\x1b[?1003h", "\x1b[?1003l"},
		"coordinates": {"\x1b[?1006h", "\x1b[?1006l"}, "pastes": {"\x1b[?2004h", "\x1b[?2004l"},
	} {
		if strings.LastIndex(output, mode[0]) > strings.LastIndex(output, mode[1]) {
			l.t.Errorf("the terminal was left without its own setting for %s; the output ends with %q", what, tail(output))
		}
	}
	if after := output[strings.LastIndex(output, "\x1b[?1049l")+1:]; !strings.Contains(after, "memtop: "+last+"\r\n") {
		l.t.Errorf("the output ends with %q, want a line %q", tail(output), last)
	}
	if aStack.MatchString(output) {
		l.t.Error("the user was shown a stack")
	}
}

func tail(text string) string { return text[max(0, len(text)-300):] }

func (l *line) wantSettings() {
	l.t.Helper()
	if after := l.settings(); *after != *l.before {
		l.t.Errorf("the terminal is set to %+v, was %+v", *after, *l.before)
	}
}

func (l *line) wantRaw() {
	l.t.Helper()
	if l.settings().Lflag&(unix.ICANON|unix.ECHO) != 0 {
		l.t.Error("the screen has not set the terminal")
	}
}

func TestASignalLeavesTheTerminalAsItWas(t *testing.T) {
	liveness(t)
	path, pid := sampleFile(t, "signal.pickle", 1), strconv.Itoa(training(t))
	tests := map[string]struct {
		arguments []string
		sees      string
		signals   []syscall.Signal
	}{
		"a file":         {[]string{"open", path}, "device 0", []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}},
		"standard input": {[]string{"open", "-"}, "device 0", []syscall.Signal{syscall.SIGTERM}},
		"a process":      {[]string{"attach", pid}, "live", []syscall.Signal{syscall.SIGHUP}},
		"the demo":       {demoArgs, "live", []syscall.Signal{syscall.SIGQUIT}},
	}
	for name, test := range tests {
		for _, signal := range test.signals {
			t.Run(name+", "+endings[signal].last, func(t *testing.T) {
				l := newLine(t, "memtop", test.arguments...)
				if name == "standard input" {
					l.cmd.Stdin = opened(t, path)
				}
				l.start()
				l.see(test.sees)
				l.wantRaw()
				var children []int
				if name == "the demo" {
					children = append(children, l.child())
				}
				send(t, l.cmd.Process, signal)
				l.wantEnded(endings[signal].code, endings[signal].last)
				for _, pid := range children {
					gone(t, pid)
				}
			})
		}
	}
}

func opened(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	fatal.If(t, err)
	t.Cleanup(func() { _ = f.Close() }) // it was only read
	return f
}

func TestChoosingAProcessIsEndedByASignal(t *testing.T) {
	liveness(t)
	training(t)
	training(t)
	l := newLine(t, "memtop", "attach")
	l.start()
	l.see("Which process?")
	l.wantRaw()
	send(t, l.cmd.Process, syscall.SIGTERM)
	l.wantEnded(143, "terminated")
}

// TestAFaultLeavesTheTerminalAsItWas has a screen fail in each of the places that
// run it; see faulty.
func TestAFaultLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	for place := range faults {
		t.Run(place, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			l := newLine(t, "faulty", place, log)
			l.start()
			l.see("a screen")
			l.wantRaw()
			if _, err := l.here.WriteString("x"); err != nil {
				t.Fatal(err)
			}
			l.wantEnded(1, "a bug in memtop: the screen failed; run it again with --log FILE and report what the log says")
			if text := contents(t, log); !bytes.Contains(text, []byte("goroutine ")) {
				t.Errorf("the log has no stack: %q", text)
			}
		})
	}
}

func TestAScreenThatHangsLeavesTheTerminalAsItWas(t *testing.T) {
	t.Parallel()
	l := newLine(t, "faulty", "hang")
	l.start()
	l.see("a screen")
	if _, err := l.here.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	l.see("hanging")
	send(t, l.cmd.Process, syscall.SIGTERM)
	l.wantEnded(143, "terminated")
}

// TestATerminalThatTakesNothingIsLeft does not read what memtop writes, as a
// connection that is dead does not.
func TestATerminalThatTakesNothingIsLeft(t *testing.T) {
	t.Parallel()
	l := newLine(t, "faulty", "flood")
	l.start()
	l.see("a screen")
	l.mu.Lock() // follow waits, and nothing more is read
	if _, err := l.here.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	l.awaitBlocked()
	send(t, l.cmd.Process, syscall.SIGTERM)
	code := l.exit()
	l.mu.Unlock()
	if code != 143 {
		t.Errorf("exit code %d, want 143", code)
	}
	l.wantSettings()
}

// awaitBlocked waits until the program hangs in a write to the terminal: in look
// after look.
func (l *line) awaitBlocked() {
	l.t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	late := time.After(deadline)
	for looks := 0; looks < 20; looks++ {
		select {
		case <-look.C:
		case <-late:
			l.t.Fatal("the terminal takes everything")
		}
		calls, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", l.cmd.Process.Pid))
		if !slices.ContainsFunc(calls, writes) {
			looks = 0
		}
	}
}

// writes reports whether a thread is in a write to standard output.
func writes(path string) bool {
	call, _ := os.ReadFile(path) // it may have ended
	return bytes.HasPrefix(call, fmt.Appendf(nil, "%d 0x1 ", syscall.SYS_WRITE))
}

func TestATerminalThatGoesAwayEndsMemtop(t *testing.T) {
	liveness(t)
	path := sampleFile(t, "gone.pickle", 1)
	program, err := os.Executable()
	fatal.If(t, err)
	memtop := filepath.Join(t.TempDir(), "memtop")
	fatal.If(t, os.Symlink(program, memtop))
	for name, arguments := range map[string][]string{
		"a file":                       {`exec "$0" "$@"`, memtop, "open", path},
		"a file, with hangups ignored": {`trap '' HUP; exec "$0" "$@"`, memtop, "open", path},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t, "sh", append([]string{"-c"}, arguments...)...)
			if l.cmd.Path, err = exec.LookPath("sh"); err != nil {
				t.Skip(err)
			}
			l.start()
			l.see("device 0")
			fatal.If(t, l.there.Close(), l.here.Close())
			if got := l.exit(); got != 129 {
				t.Errorf("exit code %d, want 129", got)
			}
		})
	}
}

func TestATerminalThatGoesAwayEndsTheDemosTrainer(t *testing.T) {
	liveness(t)
	l := newLine(t, "memtop", demoArgs...)
	l.start()
	l.see("live")
	pid := l.child()
	fatal.If(t, l.there.Close(), l.here.Close())
	if got := l.exit(); got != 129 {
		t.Errorf("exit code %d, want 129", got)
	}
	gone(t, pid)
}

// child returns the pid of the program's only child.
func (l *line) child() int {
	l.t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", l.cmd.Process.Pid))
	fatal.If(l.t, err)
	for _, list := range lists {
		if pid, err := strconv.Atoi(strings.TrimSpace(string(contents(l.t, list)))); err == nil {
			return pid
		}
	}
	l.t.Fatal("it has no child")
	return 0
}
