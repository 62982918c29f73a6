//go:build linux

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// TestAKilledRehearsalLeavesNothing kills memtop with a signal that it cannot see: its
// command's processes end, one in a session of its own too, and its folder goes.
func TestAKilledRehearsalLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for processes to end")
	}
	const folderIsThere = "folder"
	for name, moment := range map[string]string{"at its begin": "", "when its folder is there": folderIsThere, "while the command runs": "up"} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "memtop", "rehearse", "--", "sh", "-c", "setsid sleep 1000 & sleep 1000 & echo up; wait")
			cmd.Env = append(os.Environ(), "TMPDIR="+folder, "XDG_CACHE_HOME="+t.TempDir())
			out, err := cmd.StdoutPipe()
			fatal.If(t, err)
			fatal.If(t, cmd.Start())
			for moment == folderIsThere {
				if made, _ := filepath.Glob(filepath.Join(folder, "*")); len(made) > 0 {
					break
				}
			}
			for lines := bufio.NewScanner(out); moment == "up" && lines.Scan() && lines.Text() != moment; {
				continue
			}
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()         // as it was killed
			if left := leftOf(folder); len(left) > 0 {
				t.Errorf("there are left: %q", left)
			}
		})
	}
}

// leftOf returns what of a rehearsal in a folder is there after ten seconds.
func leftOf(folder string) (left []string) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-tick.C {
		left, _ = filepath.Glob(filepath.Join(folder, "memtop-rehearse-*"))
		paths, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, path := range paths {
			if environ, err := os.ReadFile(path); err == nil && bytes.Contains(environ, []byte(`MEMTOP_REHEARSAL={"folder":"`+folder)) {
				command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
				left = append(left, strings.ReplaceAll(string(command), "\x00", " "))
			}
		}
		if len(left) == 0 {
			return nil
		}
	}
	return left
}
