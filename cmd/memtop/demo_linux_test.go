package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe/attach"
)

// demoArgs are a demo that begins quickly.
var demoArgs = []string{"demo", "--", "--layers", "1", "--dim", "32", "--seq", "32", "--batch", "2"}

// trainerOf returns the pid that the screen's header shows.
func (s session) trainerOf() int {
	s.t.Helper()
	return s.number(`pid (\d+)`, 1)
}

// gone waits until there is no process of that pid; a zombie is none.
func gone(t *testing.T, pid int) {
	t.Helper()
	probetest.Eventually(t, fmt.Sprintf("process %d ends", pid), func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

func TestLeavingTheDemoEndsTheTrainer(t *testing.T) {
	liveness(t)
	s := openScreen(t, 80, 24, demoArgs...)
	pid := s.trainerOf()
	s.press("q")
	s.leave(command.ExitOK)
	gone(t, pid)
}

func TestKillingTheDemoEndsTheTrainer(t *testing.T) {
	liveness(t)
	s := openScreen(t, 80, 24, demoArgs...)
	pid := s.trainerOf()
	fatal.If(t, s.Kill())
	gone(t, pid)
	s.leave(-1) // by a signal
}

// training starts memtrain until the test ends, waits for its probe and returns
// its pid.
func training(t *testing.T) int {
	t.Helper()
	path, err := os.Executable()
	fatal.If(t, err)
	cmd := exec.CommandContext(t.Context(), path, "--steps", "0", "--layers", "1", "--dim", "32", "--seq", "32", "--batch", "2")
	cmd.Args[0] = trainer
	fatal.If(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	probetest.Eventually(t, "the trainer can be attached to", func() bool {
		c, err := attach.Dial(t.Context(), strconv.Itoa(cmd.Process.Pid), attach.DialOptions{})
		return err == nil && c.Close() == nil
	})
	return cmd.Process.Pid
}

func TestOneOfSeveralProcessesIsChosen(t *testing.T) {
	liveness(t)
	training(t)
	pid := strconv.Itoa(training(t))
	s := openScreen(t, 100, 40, "attach", "--read-only")
	s.see("Which process?", "memtrain", pid)
	for !strings.Contains(s.Text(), "> "+pid) { // there may be others on this machine
		before := s.Text()
		s.press("j")
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		err := s.Until(ctx, func(screen string) bool { return screen != before })
		cancel()
		if err != nil {
			t.Fatalf("the cursor does not reach process %s: %v\n%s", pid, err, s.Text())
		}
	}
	s.press("\r")
	s.see("Overview", "pid "+pid, "live")
	s.press("q")
	s.leave(command.ExitOK)

	none := openScreen(t, 100, 40, "attach")
	none.see("Which process?")
	none.press("q")
	none.leave(command.ExitOK)
}

// TestASilentProcessIsNamedBeforeAChoice stops one of two processes: the other is
// not attached to without a word.
func TestASilentProcessIsNamedBeforeAChoice(t *testing.T) {
	liveness(t)
	good, stopped := training(t), training(t)
	fatal.If(t, syscall.Kill(stopped, syscall.SIGSTOP))
	s := openScreen(t, 60, 24, "attach", "--read-only")
	s.see("Which process?", strconv.Itoa(good)+"  ", fmt.Sprintf("process %d does not answer", stopped), "lets it go on")
	s.press("q")
	s.leave(command.ExitOK)
}
