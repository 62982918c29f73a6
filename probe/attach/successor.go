package attach

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Following a restart
//
// A restarted job is another process with another trace. The client takes a
// process for the restart when it has the same user and command line, and began
// after the old one was last heard and has ended. If there are several, such as
// the ranks of one job, the client names them and the user chooses.

// How the client looks for a restart. Each look goes through all processes, so it
// looks a few times only.
const (
	firstSuccessor = 500 * time.Millisecond
	everySuccessor = 5 * time.Second
	lastSuccessor  = 10 * time.Minute
)

// startSlack is by how much a process may seem to begin too early: Linux counts
// in ticks.
const startSlack = 10 * time.Millisecond

// restartTold is how long the screen's note says that the client follows a
// restart. The gap says so permanently.
const restartTold = time.Minute

// restart waits for the restart of a program that has ended, and attaches to it;
// nil when there is none, or more than one.
func (c *Client) restart(ctx context.Context, f *following) *following {
	for ctx.Err() == nil && !c.o.NoRestart {
		found := f.restarts(ctx)
		if len(found) == 0 {
			return nil
		}
		if len(found) > 1 {
			f.stream.Disconnect("the process has ended; processes " + listed(found) + " now run the same command: attach to one")
			c.publish(f)
			return nil
		}
		if next := c.attachTo(ctx, f, found[0]); next != nil {
			return next
		}
	}
	return nil
}

// restarts waits for restarts of f, and returns them. It looks twice: more ranks
// may be starting.
func (f *following) restarts(ctx context.Context) []int {
	ctx, cancel := context.WithTimeout(ctx, lastSuccessor)
	defer cancel()
	alive := time.UnixMicro(f.stream.Counters().Time).Add(-startSlack)
	var last []int
	for delay := firstSuccessor; pause(ctx, delay); delay = min(2*delay, everySuccessor) {
		if f.runs() {
			continue // it has said goodbye and will end
		}
		found := f.successors(ctx, alive)
		if len(found) > 0 && slices.Equal(found, last) {
			return found
		}
		if last = found; len(found) > 0 {
			delay = firstSuccessor / 2
		}
	}
	return nil
}

// pause waits, and reports whether to go on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// successors returns the processes that may be a restart of p, ascending. The
// time says when p was last heard.
func (p *target) successors(ctx context.Context, alive time.Time) []int {
	all, err := p.asker.endpoint.machine().Discover(ctx)
	if err != nil || p.process.Command == "" {
		return nil
	}
	var found []int
	for _, other := range all {
		same := other.User == p.process.User && other.Command == p.process.Command
		if same && other.Problem == nil && other.Info.Started >= alive.UnixMicro() {
			found = append(found, other.PID)
		}
	}
	return found
}

// attachTo follows a process in place of f; nil when it has already ended.
func (c *Client) attachTo(ctx context.Context, f *following, pid int) *following {
	e, err := f.asker.endpoint.machine().locate(ctx, strconv.Itoa(pid))
	if err != nil {
		return nil
	}
	p := e.target(c.o)
	p.after = fmt.Sprintf("process %d ended", f.process.PID)
	if steps := f.stream.Trace().Steps; len(steps) > 0 {
		p.after += " at step " + strconv.FormatInt(steps[len(steps)-1].Number, 10)
	}
	next, err := c.attach(ctx, p)
	if err != nil {
		return nil
	}
	f.asker.close()
	return next
}

// follows notes in a trace which program came before: with a gap of no events at
// the begin of each device, as long as the begin is kept, and with a note for a
// while.
func (p *target) follows(t *trace.Trace) {
	if p.after == "" {
		return
	}
	text := p.after + "; following its restart, process " + strconv.Itoa(p.process.PID)
	var gaps []trace.Gap
	for i := range t.Devices {
		if d := &t.Devices[i]; !d.Overflowed {
			gaps = append(gaps, trace.Gap{Device: d.ID, Missed: -1, Reason: text})
		}
	}
	t.Live.Gaps = append(gaps, t.Live.Gaps...)
	if t.Live.Connected && time.Since(p.since) < restartTold {
		t.Live.Note = text
	}
}

// listed writes a list of numbers in words.
func listed(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
