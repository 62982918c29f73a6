package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// startRanked starts made ranks, which end with the test, and returns the pid of the first.
func startRanked(t *testing.T, n int) (pid string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "mt") // a socket's path is short
	fatal.If(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	t.Setenv("MEMTOP_DIR", filepath.Join(folder, "p"))
	for i := range n {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Args[0] = "ranked"
		c.Env = append(os.Environ(), fmt.Sprintf("RANKED=made %d %d %d", i, n, 10*i))
		told, err := c.StdoutPipe()
		fatal.If(t, err)
		fatal.If(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		if _, err := bufio.NewReader(told).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			pid = strconv.Itoa(c.Process.Pid)
		}
	}
	return pid
}

func TestRanksAreShownAndEntered(t *testing.T) {
	s := openScreen(t, 100, 30, "attach", startRanked(t, 3))
	s.see("Ranks of made", "3 ranks", "28.0 MiB", "Rank 2 holds")
	s.press("\r")
	s.see("What it is", "rank 2 of 3 · pid ")
	s.press("]")
	s.see("What it is", "rank 0 of 3 · pid ")
	s.press("9q")
	s.leave(0)
}

// TestWhatASessionLeavesChangedIsSaidAndUndone leaves a change in all ranks of a job,
// and undoes it in those of another.
func TestWhatASessionLeavesChangedIsSaidAndUndone(t *testing.T) {
	tests := map[string]struct {
		quit, answer string
		code         int
		said         bool
	}{"left as it is": {"q", "q", 0, true}, "undone": {"\x03", "u", 130, false}}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pid := startRanked(t, 3)
			s := openScreen(t, 100, 30, "attach", pid)
			s.see("Ranks of made", "3 ranks")
			s.press("\r")
			s.see("What it is", "rank 2 of 3 · pid ")
			s.press("A")
			s.see("A changes all 3 ranks from their next step on:", "amp off → bf16")
			s.press("y")
			s.see("in all 3 ranks · applied at step")
			s.press(test.quit)
			s.see("After quitting, this stays changed in all 3 ranks:", "amp=bf16 (was off)")
			s.press(test.answer)
			s.leave(test.code)
			want := "memtop: process " + pid + " goes on with amp=bf16 (was off); memtop set " + pid + " --undo sets it back"
			if strings.Contains(s.Text(), want) != test.said {
				t.Errorf("it says %q: %v, want %v; the screen is\n%s", want, !test.said, test.said, s.Text())
			}
		})
	}
}
