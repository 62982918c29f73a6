package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/tools/terminal"
)

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
