package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
)

// liveness is a place for sockets of this test alone. Its path is short: a
// socket's has room for a hundred bytes.
func liveness(t *testing.T) {
	t.Helper()
	folder, err := os.MkdirTemp("", "memtop")
	fatal.If(t, err)
	t.Cleanup(func() {
		fatal.If(t, os.RemoveAll(folder))
	})
	t.Setenv("XDG_RUNTIME_DIR", folder)
	t.Setenv("XDG_STATE_HOME", folder)
}

// number waits until a pattern's group is a number of at least so much on the
// screen, and returns it.
func (s session) number(pattern string, least int) int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), deadline)
	defer cancel()
	expression, found := regexp.MustCompile(pattern), 0
	err := s.Until(ctx, func(screen string) bool {
		m := expression.FindStringSubmatch(screen)
		if m == nil {
			return false
		}
		n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		found = n
		return err == nil && n >= least
	})
	if err != nil {
		s.t.Fatalf("waiting for %q of at least %d: %v; the screen is\n%s", pattern, least, err, s.Text())
	}
	return found
}

// body returns what the screen shows between the header and the keys.
func (s session) body() []string {
	rows := strings.Split(strings.TrimRight(s.Text(), "\n"), "\n")
	return rows[2 : len(rows)-1]
}

// page goes to a page and waits until it shows some text.
func (s session) page(key string, texts ...string) {
	s.t.Helper()
	s.press(key)
	s.see(texts...)
}

// wantsSame waits until two screens show the same between header and keys. A
// screen may be read while it is being drawn.
func wantsSame(t *testing.T, what string, want, got session) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(deadline / 4); ; <-look.C {
		diff := cmp.Diff(want.body(), got.body())
		if diff == "" {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%s is another (-want +got):\n%s", what, diff)
			return
		}
	}
}

// recordOf starts `memtop record` of a process and waits until it writes.
func recordOf(t *testing.T, pid int, path string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	fatal.If(t, err)
	record := exec.CommandContext(t.Context(), program, "record", strconv.Itoa(pid), "-o", path)
	record.Args[0] = "memtop"
	record.Stderr = os.Stderr
	fatal.If(t, record.Start())
	probetest.Eventually(t, "the recording begins", func() bool {
		info, err := os.Stat(path)
		return err == nil && info.Size() > 0
	})
	return record
}

// TestADemoIsChangedRecordedAndOpenedAgain does what a new user does: start the
// demo, watch it, press C, see the difference, and look at a recording of it
// later.
func TestADemoIsChangedRecordedAndOpenedAgain(t *testing.T) {
	liveness(t)
	path := filepath.Join(t.TempDir(), "run.mtr")
	demo := openScreen(t, 120, 40, "demo", "--", "--layers", "2", "--seq", "64", "--batch", "4")
	demo.see("Overview", "live", "allocated")
	pid := demo.number(`pid (\d+)`, 1)
	step := demo.number(`step ([\d,]+)`, 1)
	demo.number(`step ([\d,]+)`, step+1) // it moves
	record := recordOf(t, pid, path)
	step = demo.number(`step ([\d,]+)`, step+1)
	demo.number(`step ([\d,]+)`, step+8)

	demo.press("C")
	demo.see("checkpoint none → block · at step", "peak -")
	demo.page("8", "1 change", "8 steps measured")

	fatal.If(t, syscall.Kill(pid, syscall.SIGINT))
	if err := record.Wait(); err != nil {
		t.Fatalf("record: %v", err)
	}
	demo.miss(" live")
	recording := openScreen(t, 120, 40, "open", path)
	recording.see("recording")
	recording.press("$")
	for _, page := range []struct {
		key   string
		texts []string
	}{
		{"8", []string{"8 steps measured", "Settings at the end"}}, // one row of an experiment
		{"2", []string{"Layers of step", "lm_head"}},
	} {
		demo.page(page.key, page.texts...)
		recording.page(page.key, page.texts...)
		wantsSame(t, "page "+page.key+" of the recording", demo, recording)
	}
	for _, s := range []session{demo, recording} {
		s.press("q")
		s.leave(command.ExitOK)
	}
}
