package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// startJob starts two ranks of memtrain by Open MPI, which end with the test, and returns
// the pid of one. Without Open MPI the test is skipped.
func startJob(t *testing.T) (pid string) {
	t.Helper()
	launcher, err := exec.LookPath("mpirun.openmpi")
	if err != nil {
		if launcher, err = exec.LookPath("mpirun"); err != nil {
			t.Skip("Open MPI is not installed: there is no mpirun")
		}
	}
	folder, err := os.MkdirTemp("", "mt") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	t.Setenv("MEMTOP_DIR", filepath.Join(folder, "p"))
	program := filepath.Join(folder, "memtrain")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/memtop/memtop/cmd/memtrain").CombinedOutput(); err != nil {
		t.Skipf("memtrain, which needs the C library, is not built here: %v %s", err, out)
	}
	c := exec.CommandContext(t.Context(), launcher, "-n", "2", program, "--steps", "0", "--layers", "1", "--dim", "32", "--seq", "32", "--batch", "4")
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1")
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) } // which it passes on
	told, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Cancel(); _ = c.Wait() })
	lines := bufio.NewScanner(told)
	for lines.Scan() && !strings.Contains(lines.Text(), "step 1 ") {
	}
	go func() { // until the launcher ends
		for lines.Scan() {
		}
	}()
	sockets, err := filepath.Glob(filepath.Join(folder, "p", "*.sock"))
	if err != nil || len(sockets) != 2 {
		t.Fatalf("the ranks have the sockets %v (%v)", sockets, err)
	}
	pid, _, _ = strings.Cut(filepath.Base(sockets[0]), "-")
	return pid
}

// startRanked starts made ranks, which end with the test, and returns the pid of the first.
func startRanked(t *testing.T, n int) (pid string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "mt") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	t.Setenv("MEMTOP_DIR", filepath.Join(folder, "p"))
	for i := range n {
		c := exec.CommandContext(t.Context(), os.Args[0])
		c.Args[0] = "ranked"
		c.Env = append(os.Environ(), fmt.Sprintf("RANKED=made %d %d %d", i, n, 10*i))
		told, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
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

func TestTheRanksOfAJobAreShownAndEntered(t *testing.T) {
	if os.Getenv("MEMTOP_LONG") == "" {
		t.Skip("it builds memtrain: set MEMTOP_LONG=1 to run it")
	}
	s := openScreen(t, 100, 30, "attach", startJob(t))
	s.see("Ranks of", "2 ranks", "least headroom", " of 2 · pid ")
	s.press("\r")
	s.see("What it is", " of 2 · pid ")
	s.press("4]")
	s.see("Live memory by category")
	s.press("C")
	s.see("C changes all 2 ranks from their next step on:", "checkpoint none → block")
	s.press("y")
	s.see("in all 2 ranks · at step")
	s.press("9")
	s.see("checkpoint block")
	s.press("]")
	s.press("]")
	s.see("checkpoint block")
	s.press("q")
	s.see("stays changed in all 2 ranks")
	s.press("u")
	s.leave(0)
}
