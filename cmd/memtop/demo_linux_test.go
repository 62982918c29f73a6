package main

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"memtop/cmd/command"
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
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatalf("process %d still runs", pid)
		}
	}
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
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, pid)
	s.leave(-1) // by a signal
}

func TestAKilledTrainerLeavesItsLastStateOnTheScreen(t *testing.T) {
	liveness(t)
	s := openScreen(t, 100, 30, demoArgs...)
	pid := s.trainerOf()
	s.see("step")
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.see("has ended", "parameters")
	s.press("3")
	s.see("creation sites")
	s.press("q")
	s.leave(command.ExitOK)
}
