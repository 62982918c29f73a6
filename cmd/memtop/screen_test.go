package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/pytorchtest"
	"github.com/memtop/memtop/cmd/tools/terminal"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/tui"

	tea "charm.land/bubbletea/v2"
)

// deadline is how long anything on the screen may take before a test fails. It
// is generous: the race detector and a busy machine are slow.
const deadline = 5 * time.Minute

// session is memtop in a pseudo-terminal.
type session struct {
	t *testing.T
	*terminal.Terminal
}

// openScreen starts the test binary as memtop; see TestMain.
func openScreen(t *testing.T, w, h int, args ...string) session {
	t.Helper()
	return startScreen(t, w, h, nil, args...)
}

// startScreen does so with standard input from a file, nil for the terminal.
func startScreen(t *testing.T, w, h int, stdin *os.File, args ...string) session {
	t.Helper()
	program, err := os.Executable()
	fatal.If(t, err)
	command := exec.CommandContext(t.Context(), program, args...)
	command.Args[0] = "memtop"
	command.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	if stdin != nil {
		command.Stdin = stdin
	}
	screen, err := terminal.Start(command, w, h)
	if err != nil {
		t.Skipf("no pseudo-terminal to be had: %v", err)
	}
	return session{t, screen}
}

// see waits until the screen shows all of the texts.
func (s session) see(texts ...string) {
	s.t.Helper()
	s.await(true, texts)
}

// miss waits until the screen shows none of the texts.
func (s session) miss(texts ...string) {
	s.t.Helper()
	s.await(false, texts)
}

func (s session) await(shown bool, texts []string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), deadline)
	defer cancel()
	err := s.Until(ctx, func(screen string) bool {
		for _, text := range texts {
			if strings.Contains(screen, text) != shown {
				return false
			}
		}
		return true
	})
	if err != nil {
		s.t.Fatalf("waiting for %q to be shown (%v): %v; the screen is\n%s", texts, shown, err, s.Text())
	}
}

func (s session) press(keys string) {
	s.t.Helper()
	fatal.If(s.t, s.Press(keys))
}

// leave waits for the program to end with an exit code.
func (s session) leave(code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), deadline)
	defer cancel()
	got, _, err := s.Wait(ctx)
	if err != nil {
		s.t.Fatalf("%v; the screen is\n%s", err, s.Text())
	}
	if got != code {
		s.t.Errorf("exit code %d, want %d", got, code)
	}
}

// commandNamed runs the test binary as one of our programs; see TestMain.
func commandNamed(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	fatal.If(t, err)
	if name == trainer {
		args = append([]string{"--layers", "2", "--dim", "64", "--seq", "32", "--batch", "2"}, args...)
	}
	command := exec.CommandContext(t.Context(), path)
	command.Args = append([]string{name}, args...)
	return command
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	data := fatal.Read(t, path)
	return data
}

// sampleFile writes a small snapshot and returns its path.
func sampleFile(t *testing.T, name string, seed uint64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	writeSnapshot(t, path, pytorchtest.Random(pytorchtest.Options{Seed: seed, Operations: 300}))
	return path
}

func writeSnapshot(t *testing.T, path string, recorded *trace.Trace) {
	t.Helper()
	f, err := os.Create(path)
	fatal.If(t, err)
	defer f.Close()
	fatal.If(t, pytorch.Write(f, recorded))
}

func TestAUserWalksThroughTheProgram(t *testing.T) {
	s := openScreen(t, 100, 30, "open", sampleFile(t, "walk.pickle", 1))
	s.see("Overview", "walk.pickle", "device 0")
	for _, step := range []struct{ key, sees string }{
		{"4", "Live memory by category"},
		{"5", "Allocator's map"},
		{"6", "outermost first"},
		{"7", "live after"},
		{"1", "What stands out"},
	} {
		s.press(step.key)
		s.see(step.sees, "device 0")
	}
	s.press("?")
	s.see("esc closes", "next finding")
	s.press("\x1b")
	s.miss("esc closes", "next finding")
	fatal.If(t, s.Resize(20, 6))
	s.see("too small")
	fatal.If(t, s.Resize(80, 24))
	s.see("Overview", "device 0")
	s.press("q")
	s.leave(command.ExitOK)
}

func TestTheScreenIsExportedAndSaved(t *testing.T) {
	path := sampleFile(t, "run.pickle", 1)
	folder := filepath.Dir(path)
	s := openScreen(t, 150, 24, "open", path)
	s.see("device 0")
	for _, step := range []struct{ key, path, sees string }{
		{"x", filepath.Join(folder, "out.csv"), "wrote "},
		{"x", filepath.Join(folder, "out.svg"), "the ending of out.svg is none of .csv"},
		{"s", filepath.Join(folder, "copy.pickle"), "wrote "},
		{"s", filepath.Join(folder, "nowhere", "copy.pickle"), "no such file or directory"},
		{"s", path, "is the file that is being read"},
		{"s", filepath.Join(folder, "copy.pickle"), "exists; overwrite it?"},
	} {
		s.press(step.key)
		s.see("enter writes")
		s.press("\x15" + step.path + "\r")
		s.see(step.sees)
	}
	s.press("\x1b")
	s.miss("overwrite")
	s.press("q")
	s.leave(command.ExitOK)
	want := fatal.Read(t, path)
	if got, err := os.ReadFile(filepath.Join(folder, "copy.pickle")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the saved snapshot is not the one that was opened (%v)", err)
	}
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(left) != 3 {
		t.Errorf("the folder has %q (%v), want three files", left, err)
	}
}

func TestADamagedFileIsToldOnTheScreenAndByTheExitCode(t *testing.T) {
	path := fatal.Write(t, "unsafe.pickle", []byte("cos\nsystem\n(S'true'\ntR."))
	s := openScreen(t, 80, 24, "open", path)
	s.see("os.system")
	s.press("q")
	s.leave(command.ExitCorrupt)
}

func TestAPipedFileIsShownAndKeysComeFromTheTerminal(t *testing.T) {
	f, err := os.Open(sampleFile(t, "piped.pickle", 4))
	fatal.If(t, err)
	defer f.Close()
	s := startScreen(t, 80, 24, f, "open", "-")
	s.see("device 0")
	s.press("7")
	s.see("live after")
	s.press("q")
	s.leave(command.ExitOK)
}

func TestTheTerminalIsNotReadAsAFile(t *testing.T) {
	s := openScreen(t, 80, 24, "report", "-")
	s.see("memtop: standard input is the terminal")
	s.leave(command.ExitUsage)
}

func TestSeveralFilesAreSwitchedBetween(t *testing.T) {
	first, second := sampleFile(t, "first.pickle", 1), sampleFile(t, "second.pickle", 2)
	s := openScreen(t, 100, 24, "open", first, second)
	s.see("first.pickle", "device 0")
	s.press("]")
	s.see("second.pickle", "device 0")
	s.press("[")
	s.see("first.pickle", "device 0")
	s.press("q")
	s.leave(command.ExitOK)
}

// TestCtrlCInterruptsQuestions tells who leaves a question from who ends memtop.
func TestCtrlCInterruptsQuestions(t *testing.T) {
	for name, model := range map[string]tea.Model{"which process": &tui.Choice{}, "start the agent": &tui.Question{}} {
		for key, want := range map[rune]tea.Msg{'c': tea.InterruptMsg{}, 'q': tea.QuitMsg{}} {
			press := tea.KeyPressMsg{Code: key, Text: string(key)}
			if key == 'c' {
				press = tea.KeyPressMsg{Code: key, Mod: tea.ModCtrl}
			}
			if _, cmd := model.Update(press); cmd == nil || cmd() != want {
				t.Errorf("%s: %s does not give %T", name, press, want)
			}
		}
	}
}

func TestPlainTerminalsAreRecognised(t *testing.T) {
	tests := map[string]struct {
		term, all, ctype, lang string
		ascii, noMouse         bool
	}{
		"a usual terminal":                  {"xterm-256color", "", "", "en_US.UTF-8", false, false},
		"no locale at all":                  {"xterm", "", "", "", false, false},
		"the C locale":                      {"xterm-256color", "C", "", "en_US.UTF-8", true, false},
		"the C locale with Unicode":         {"xterm-256color", "C.UTF-8", "", "C", false, false},
		"its characters only":               {"xterm", "", "POSIX", "en_US.UTF-8", true, false},
		"another set of characters":         {"xterm", "", "", "de_DE.ISO-8859-1", true, false},
		"an old terminal":                   {"vt100", "", "", "en_US.UTF-8", true, true},
		"one that cannot move its cursor":   {"dumb", "", "", "en_US.UTF-8", true, true},
		"one whose name begins like theirs": {"vte-256color", "", "", "en_US.utf8", false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for variable, value := range map[string]string{"TERM": test.term, "LC_ALL": test.all, "LC_CTYPE": test.ctype, "LANG": test.lang} {
				t.Setenv(variable, value)
			}
			if got := plainDefault("ascii") == "true"; got != test.ascii {
				t.Errorf("ASCII: %v, want %v", got, test.ascii)
			}
			if got := plainDefault("no-mouse") == "true"; got != test.noMouse {
				t.Errorf("no mouse: %v, want %v", got, test.noMouse)
			}
		})
	}
}

// written keeps what a screen was sent.
type written struct {
	sync.Mutex
	bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	return w.Buffer.Write(b)
}

func TestAScreenOnAPlainTerminal(t *testing.T) {
	const mouse = "\x1b[?1002h"
	for name, test := range map[string]struct {
		environment  []string
		flags        []string
		ascii, mouse bool
	}{
		"a usual one":               {[]string{"TERM=xterm-256color", "LC_ALL=C.UTF-8"}, nil, false, true},
		"the C locale":              {[]string{"TERM=xterm-256color", "LC_ALL=C"}, nil, true, true},
		"a VT100":                   {[]string{"TERM=vt100", "LC_ALL=C.UTF-8"}, nil, true, false},
		"a VT100 that can Unicode":  {[]string{"TERM=vt100", "LC_ALL=C.UTF-8"}, []string{"--ascii=false"}, false, false},
		"the environment says else": {[]string{"TERM=vt100", "MEMTOP_ASCII=false"}, nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			program, err := os.Executable()
			fatal.If(t, err)
			command := exec.CommandContext(t.Context(), program, append([]string{"open", "testdata/tiny_training.pickle"}, test.flags...)...)
			command.Args[0] = "memtop"
			command.Env = append(append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir()), test.environment...)
			var sent written
			screen, err := terminal.StartWatched(command, 80, 24, &sent)
			if err != nil {
				t.Skipf("no pseudo-terminal to be had: %v", err)
			}
			s := session{t, screen}
			s.see("What stands out")
			s.press("q")
			s.leave(0)
			sent.Lock()
			defer sent.Unlock()
			if ascii := !strings.ContainsFunc(sent.String(), func(r rune) bool { return r > '~' }); ascii != test.ascii {
				t.Errorf("only ASCII was drawn: %v, want %v", ascii, test.ascii)
			}
			if got := strings.Contains(sent.String(), mouse); got != test.mouse {
				t.Errorf("the mouse was asked for: %v, want %v", got, test.mouse)
			}
		})
	}
}
