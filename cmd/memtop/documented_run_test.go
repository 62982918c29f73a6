package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/tools/terminal"
)

// atFirst are pages that users read first. The others' commands run with MEMTOP_LONG=1.
var atFirst = map[string]bool{"README.md": true, "docs/faq.md": true, "docs/commands.md": true}

// TestCommandsOfTheDocumentationRun runs the commands of pages, each page in a folder
// that has what the page says a reader has, and compares what comes with what the page
// shows. Commands that start Python need PyTorch too: make docs-check runs all.
func TestCommandsOfTheDocumentationRun(t *testing.T) {
	if testing.Short() {
		t.Skip("some hundred programs run")
	}
	pages := documentation(t)
	ran, left, seen := 0, 0, make(map[string]bool)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		t.Run(page, func(t *testing.T) {
			if !atFirst[page] && os.Getenv("MEMTOP_LONG") == "" {
				t.Skip("MEMTOP_LONG is not set")
			}
			r := newReaderFolder(t)
			later := false // what follows on the page rests on what was left out
			for _, c := range pages[page] {
				switch again := seen[c.text] && len(c.shows) == 0; {
				case c.name || again || c.notRun != "":
				case r.python == "" && (startsPython.MatchString(c.text) || later && len(c.shows) > 0), !r.has(c.text):
					left++
					later = later || len(c.shows) > 0
				default:
					ran++
					seen[c.text] = true
					begun := time.Now()
					if err := r.run(c); err != nil {
						t.Errorf("%s: %s: %v", c.where, c.text, err)
					}
					t.Logf("%.1f s: %s", time.Since(begun).Seconds(), c.text)
				}
			}
		})
	}
	t.Logf("%d commands ran; %d need PyTorch or MPI: make docs-check", ran, left)
}

// startsPython matches commands that start Python.
var startsPython = regexp.MustCompile(`\b(python|torchrun)\b`)

// Screens are commands that open one on a terminal, and leave at the key q.
var (
	screens    = regexp.MustCompile(`^memtop (open|attach|demo|\d+|FILE)\b`)
	notScreens = regexp.MustCompile(` (--once|-1|--json|\||>)( |$)`)
)

// endless are commands that a reader ends by Ctrl-C, when they have said something.
var endless = regexp.MustCompile(`--listen |^(mpirun -n \d+ )?(bin/)?memtrain( --model \w+| --[^s]\S* \S+| --shard \w+)*$`)

// run runs a command as its page's reader does.
func (r *readerFolder) run(c documented) error {
	line, err := r.line(c.text)
	if err != nil {
		return err
	}
	before, background := strings.CutSuffix(line, " &")
	switch {
	case background:
		return r.begin(before)
	case strings.HasPrefix(line, "kill "):
		return errors.Join(r.print(line, c), r.isOver())
	case screens.MatchString(line) && !notScreens.MatchString(line):
		return r.look(line, c)
	}
	return r.print(line, c)
}

// print runs a command that needs no screen.
func (r *readerFolder) print(line string, c documented) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), r.patience())
	defer cancel()
	end := endless.MatchString(line) && c.exits == command.ExitOK
	if end {
		line = "exec " + line // no shell is between
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env = r.folder, r.environment
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell for what is typed
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out := &outputs{end: end, cmd: cmd}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	code := cmd.ProcessState.ExitCode()
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	terminated := end && (code == command.ExitSignal+int(syscall.SIGTERM) || status.Signal() == syscall.SIGTERM)
	if code != c.exits && !terminated {
		return fmt.Errorf("it ended with %v, want %d, and said\n%s", cmd.ProcessState, c.exits, lastLines(out.said.String()))
	}
	for _, s := range c.shows {
		if !s.pattern(`\A`, `\z`).MatchString(rows(out.said.String())) {
			return fmt.Errorf("the page shows\n%s\nand what came is\n%s", strings.Join(s.lines, "\n"), out.said.String())
		}
	}
	return nil
}

// lastLines returns the last lines of a text.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-12, 0):], "\n")
}

// outputs keeps what a command says, and ends one that never ends by itself when it
// has begun to speak.
type outputs struct {
	said bytes.Buffer
	end  bool
	cmd  *exec.Cmd
}

func (o *outputs) Write(p []byte) (int, error) {
	if o.end {
		o.end = false
		o.terminate()
	}
	return o.said.Write(p)
}

// terminate asks the program to end. Ctrl-C would not do: where the tests run in the
// background, programs ignore it.
func (o *outputs) terminate() { _ = syscall.Kill(-o.cmd.Process.Pid, syscall.SIGTERM) } // it may have ended

// look runs a command with a screen, of 80×24, and leaves it when everything was shown.
func (r *readerFolder) look(line string, c documented) error {
	cmd := exec.CommandContext(r.t.Context(), "sh", "-c", "exec "+line)
	cmd.Dir, cmd.Env = r.folder, append(slices.Clip(r.environment), "TERM=xterm-256color")
	screen, err := terminal.Start(cmd, 80, 24)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), r.patience())
	defer cancel()
	err = r.watch(ctx, screen, c)
	if err != nil {
		err = fmt.Errorf("%w; the screen is\n%s", err, screen.Text())
		_ = screen.Kill() // it may have ended
	}
	code, _, waited := screen.Wait(ctx)
	if err == nil && code != c.exits {
		err = fmt.Errorf("it left with %d, want %d", code, c.exits)
	}
	return errors.Join(err, waited)
}

// usable matches a screen of memtop that can be used.
var usable = regexp.MustCompile(`\? *(help|keys)|q +(quit|leaves)`)

func (r *readerFolder) watch(ctx context.Context, screen *terminal.Terminal, c documented) error {
	if err := screen.Until(ctx, usable.MatchString); err != nil {
		return err
	}
	for _, s := range c.shows {
		if err := screen.Press(typed(s.keys)); err != nil {
			return err
		}
		if len(s.lines) == 0 {
			continue // the keys of the next part are the first
		}
		pattern := s.pattern(`(?:\A|\n)`, `(?:\n|\z)`)
		if err := screen.Until(ctx, func(text string) bool { return pattern.MatchString(rows(text)) }); err != nil {
			return fmt.Errorf("waiting for\n%s\n%w", strings.Join(s.lines, "\n"), err)
		}
	}
	return screen.Press("q")
}

// typed returns what a terminal sends for keys as a page names them.
func typed(keys []string) string {
	named := map[string]string{"Enter": "\r", "Esc": "\x1b", "Tab": "\t", "Down": "\x1b[B", "Up": "\x1b[A", "Right": "\x1b[C", "Left": "\x1b[D"}
	var all strings.Builder
	for _, key := range keys {
		if bytes, found := named[key]; found {
			key = bytes
		}
		all.WriteString(key)
	}
	return all.String()
}

// rows returns a text without blanks at the ends of its lines.
func rows(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \r")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// What differs from run to run or with edits: how wide a column is, numbers of processes,
// lines of the engine, dates, and durations.
var differing = []struct {
	found *regexp.Regexp
	comes string
}{
	{regexp.MustCompile(`…`), `.*`},
	{regexp.MustCompile(`\b4711\b`), `\d+`},
	{regexp.MustCompile(`\.go:\d+`), `.go:\d+`},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?`), `\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?`},
	{regexp.MustCompile(`\d[\d,]*(\\\.\d+)? ?(ns|µs|ms|s|seconds|minutes)\b`), `\d[\d,]*(?:\.\d+)? ?(?:ns|µs|ms|s|seconds|minutes)\b`},
	{regexp.MustCompile(`  +`), `  +`},
}

// pattern matches the lines that a page shows, between two texts. A line of … alone
// stands for any lines, and … within a line for any text.
func (s shown) pattern(before, after string) *regexp.Regexp {
	var all strings.Builder
	all.WriteString(before)
	lines := strings.Split(rows(strings.Join(s.lines, "\n")), "\n")
	for i, line := range lines {
		if strings.TrimSpace(line) == "…" {
			all.WriteString(`(?:[^\n]*\n)*?`)
			if i == len(lines)-1 {
				all.WriteString(`[^\n]*`)
			}
			continue
		}
		line = regexp.QuoteMeta(line)
		for _, d := range differing {
			line = d.found.ReplaceAllLiteralString(line, d.comes)
		}
		all.WriteString(line)
		if i < len(lines)-1 {
			all.WriteString(`\n`)
		}
	}
	all.WriteString(after)
	return regexp.MustCompile(all.String())
}

// begin starts a command in the background, and waits until it can be attached to or
// has ended. 4711 is its process on the page.
func (r *readerFolder) begin(line string) error {
	cmd := exec.Command("sh", "-c", "exec "+line) //nolint:noctx // the end of the page ends it
	cmd.Dir, cmd.Env = r.folder, r.environment
	return r.start(cmd)
}

// environ returns the environment with some variables replaced.
func environ(variables map[string]string) []string {
	all := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		_, replaced := variables[name]
		return replaced
	})
	for name, value := range variables {
		all = append(all, name+"="+value)
	}
	return all
}
