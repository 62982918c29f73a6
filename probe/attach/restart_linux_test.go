package attach

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// followed attaches to a program that is then killed.
func followed(t *testing.T, o *other) *Client {
	t.Helper()
	c := dialling(t, strconv.Itoa(o.Process.Pid), DialOptions{})
	must(t, o.Process.Kill())
	_ = o.Wait() // it was killed; without Wait it is not gone
	awaiting(t, c, "the end", func(now *trace.Trace) bool { return now.Live.Note == ended })
	<-c.Ended()
	return c
}

func TestARestartIsFollowed(t *testing.T) {
	t.Parallel()
	folder, path := shortFolder(t), executable(t)
	twin := startProgram(t, path, folder, nil) // which began before the first had ended
	first := startProgram(t, path, folder, nil)
	c := followed(t, first)
	second := startProgram(t, path, folder, nil)
	text := fmt.Sprintf("process %d ended at step 1; following its restart, process %d", first.Process.Pid, second.Process.Pid)
	now := awaiting(t, c, "the second", func(now *trace.Trace) bool {
		if now.Live.PID == first.Process.Pid && len(taken(now)) != 11 {
			t.Fatal("the last state of the first is not kept")
		}
		return now.Live.PID != first.Process.Pid
	})
	if now.Live.PID != second.Process.Pid || now.Live.PID == twin.Process.Pid || !now.Live.Connected || len(taken(now)) != 11 || len(now.Steps) != 1 {
		t.Errorf("it shows process %d, connected: %v, with %d slots taken and %d steps", now.Live.PID, now.Live.Connected, len(taken(now)), len(now.Steps))
	}
	gap := trace.Gap{Missed: -1, Reason: text}
	if now.Live.Note != text || len(now.Live.Gaps) != 1 || now.Live.Gaps[0] != gap {
		t.Errorf("it says %q and has the gaps %+v, want %q", now.Live.Note, now.Live.Gaps, text)
	}
	if got := c.Process().PID; got != second.Process.Pid {
		t.Errorf("the client is attached to process %d", got)
	}
	if _, err := c.Set(t.Context(), "amp", "bf16"); err != nil {
		t.Errorf("a change of the second: %v", err)
	}
}

func TestARestartIsFollowedAgainAndAgain(t *testing.T) {
	t.Parallel()
	folder, path := shortFolder(t), executable(t)
	o := startProgram(t, path, folder, nil)
	c := dialling(t, strconv.Itoa(o.Process.Pid), DialOptions{})
	for range 2 {
		if err := o.stdin.Close(); err != nil { // it says goodbye
			t.Fatal(err)
		}
		_ = o.Wait()
		o = startProgram(t, path, folder, nil)
		awaiting(t, c, "its restart", func(now *trace.Trace) bool { return now.Live.PID == o.Process.Pid && now.Live.Connected })
	}
}

func TestOfSeveralRestartsNoneIsFollowed(t *testing.T) {
	t.Parallel()
	folder, path := shortFolder(t), executable(t)
	c := followed(t, startProgram(t, path, folder, nil))
	pid := c.Process().PID
	second, third := startProgram(t, path, folder, nil), startProgram(t, path, folder, nil)
	low, high := min(second.Process.Pid, third.Process.Pid), max(second.Process.Pid, third.Process.Pid)
	now := awaiting(t, c, "word of both", func(now *trace.Trace) bool {
		return strings.Contains(now.Live.Note, fmt.Sprintf("processes %d and %d now run the same command", low, high))
	})
	if now.Live.PID != pid || now.Live.Connected || len(taken(now)) != 11 {
		t.Errorf("the client shows process %d, connected: %v", now.Live.PID, now.Live.Connected)
	}
}

func TestAnotherCommandIsNoRestart(t *testing.T) {
	t.Parallel()
	folder := shortFolder(t)
	c := followed(t, startProgram(t, executable(t), folder, nil))
	startProgram(t, executable(t), folder, nil) // under another path
	if found := c.now.Load().successors(t.Context(), time.Time{}); len(found) > 0 {
		t.Errorf("%v are taken for restarts", found)
	}
}

// TestAStoppedProgramIsGivenUpAndComesBack stops a program for longer than it may
// say nothing, and lets it go on.
func TestAStoppedProgramIsGivenUpAndComesBack(t *testing.T) {
	t.Parallel()
	o := startOther(t, shortFolder(t), nil)
	c := dialling(t, strconv.Itoa(o.Process.Pid), DialOptions{quiet: 2 * protocol.Heartbeat})
	must(t, o.Process.Signal(syscall.SIGSTOP))
	began := time.Now()
	quiet := awaiting(t, c, "the loss", func(now *trace.Trace) bool { return !now.Live.Connected })
	if !strings.Contains(quiet.Live.Note, "connection was lost; trying again") || len(taken(quiet)) != 11 {
		t.Errorf("while it is stopped: %q, with %d slots taken", quiet.Live.Note, len(taken(quiet)))
	}
	if took := time.Since(began); took < protocol.Heartbeat || took > 30*time.Second {
		t.Errorf("it was given up after %v, want about %v", took, 2*protocol.Heartbeat)
	}
	must(t, o.Process.Signal(syscall.SIGCONT))
	back := awaiting(t, c, "the way back", func(now *trace.Trace) bool { return now.Live.Connected })
	if back.Live.PID != o.Process.Pid || len(taken(back)) != 11 || back.Live.Note != "" {
		t.Errorf("then it shows process %d, %d slots taken, and says %q", back.Live.PID, len(taken(back)), back.Live.Note)
	}
}
