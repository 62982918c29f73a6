package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/remote"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/trace"
)

// aTrainer starts memtrain until the test ends, and returns its pid when it trains.
func aTrainer(t *testing.T, args ...string) int {
	t.Helper()
	process := commandNamed(t, trainer, append([]string{"--steps", "0", "--json"}, args...)...)
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	lines := bufio.NewScanner(out)
	for range 3 {
		if !lines.Scan() {
			t.Fatalf("the trainer ended: %v", lines.Err())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // until the process ends
	return process.Process.Pid
}

// eventually waits until a client's trace satisfies ok, and returns it.
func eventually(t *testing.T, c *attach.Client, what string, ok func(*trace.Trace) bool) *trace.Trace {
	t.Helper()
	limit := time.After(deadline)
	for {
		if now := c.Trace(); ok(now) {
			return now
		}
		select {
		case <-c.Changed():
		case <-limit:
			now := c.Trace()
			t.Fatalf("not within %v: %s; it says %q, and its gaps are %+v", deadline, what, now.Live.Note, now.Live.Gaps)
		}
	}
}

// cutFor is how long the link is silent: MEMTOP_LINK_CUT, or 0 for one that breaks
// at once and stays away until steps have passed.
func cutFor(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("MEMTOP_LINK_CUT")
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestNothingIsLostWithALink attaches through a real sshd, changes a setting, cuts the
// wire and joins it again: the viewer must have every event and step that the program's
// own recording has.
func TestNothingIsLostWithALink(t *testing.T) {
	liveness(t)
	host := sshing(t)
	pid := aTrainer(t, "--dim", "256", "--seq", "256", "--batch", "4") // slow enough for the ring to hold ten seconds
	path := filepath.Join(t.TempDir(), "here.mtr")
	recording := recordOf(t, pid, path)
	way, err := remote.SSH("gpu7", os.Getenv("MEMTOP_REMOTE_MEMTOP"))
	if err != nil {
		t.Fatal(err)
	}
	machine, err := remote.Open(t.Context(), way, false)
	if err != nil {
		t.Fatal(err)
	}
	defer machine.Close()
	c, err := attach.Through(machine).Dial(t.Context(), strconv.Itoa(pid), attach.DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Set(t.Context(), "checkpoint", "block"); err != nil {
		t.Fatal(err)
	}
	before := eventually(t, c, "the change", func(now *trace.Trace) bool {
		return len(now.Live.Changes) == 1 && now.Live.Changes[0].State == trace.Applied
	})
	cutWire(t, host, c)
	last := attach.LastStep(before)
	back := eventually(t, c, "the way back", func(now *trace.Trace) bool { return now.Live.Connected && attach.LastStep(now) > last+5 })
	_ = recording.Process.Signal(syscall.SIGINT)
	_ = recording.Wait() // 130: it was interrupted
	if len(back.Live.Gaps) > 0 {
		t.Errorf("what the ring holds was lost: %+v", back.Live.Gaps)
	}
	whole, err := snapshots.Open(t.Context(), path, snapshots.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = whole.Close() }()
	wantsAllOf(t, whole.Trace(), back)
}

// TestAUserSeesALostHostComeBack attaches on a terminal to a process of another machine,
// whose sshd goes away for a while.
func TestAUserSeesALostHostComeBack(t *testing.T) {
	liveness(t)
	host := sshing(t)
	pid := aTrainer(t)
	s := openScreen(t, 120, 30, "attach", "gpu7:"+strconv.Itoa(pid))
	s.see("live", "pid "+strconv.Itoa(pid)+" on gpu7")
	host.sever()
	host.hangUp()
	s.see("lost host gpu7 for ")
	step := s.number(`step ([\d,]+)`, 1)
	host.join()
	s.miss("lost host")
	s.see("live")
	s.number(`step ([\d,]+)`, step+1)
	s.press("q")
	s.leave(command.ExitOK)
}

// cutWire cuts the wire and joins it again when the client has noticed.
func cutWire(t *testing.T, host *sshd, c *attach.Client) {
	t.Helper()
	host.sever()
	if d := cutFor(t); d > 0 {
		<-time.After(d)
		host.join()
		return
	}
	host.hangUp()
	eventually(t, c, "the loss", func(now *trace.Trace) bool {
		return !now.Live.Connected && strings.HasPrefix(now.Live.Note, "lost host gpu7 for ")
	})
	host.join()
}

// happening is what two streams say alike of an event.
type happening struct {
	Kind trace.Kind
	Addr uint64
	Size int64
	Time int64
}

// wantsAllOf compares what two traces have of the same time: from the first event that
// both have on, and from the first step.
func wantsAllOf(t *testing.T, want, got *trace.Trace) {
	t.Helper()
	whole, part := happenings(want), happenings(got)
	begin := max(whole[0].Time, part[0].Time)
	end := min(whole[len(whole)-1].Time, part[len(part)-1].Time)
	whole, part = between(whole, begin, end), between(part, begin, end)
	if diff := cmp.Diff(whole, part); diff != "" || len(part) < 1000 {
		t.Errorf("of %d events the viewer has %d; (-recording +viewer):\n%.2000s", len(whole), len(part), diff)
	}
	for i := 1; i < len(got.Steps); i++ {
		if a, b := got.Steps[i-1].Number, got.Steps[i].Number; b != a+1 {
			t.Errorf("after step %d the viewer has %d", a, b)
		}
	}
	t.Logf("%d events and %d steps are those of the recording", len(part), len(got.Steps))
}

func happenings(t *trace.Trace) []happening {
	var all []happening
	events := t.Devices[0].Events
	for i := range events.Len() {
		e := events.At(i)
		all = append(all, happening{e.Kind, e.Addr, e.Size, e.Time})
	}
	return all
}

func between(all []happening, begin, end int64) []happening {
	var some []happening
	for _, h := range all {
		if h.Time > begin && h.Time < end {
			some = append(some, h)
		}
	}
	return some
}
