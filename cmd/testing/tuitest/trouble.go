package tuitest

import (
	"slices"
	"strconv"

	"github.com/memtop/memtop/snapshots/trace"
)

// trouble is what can go wrong between a program and who watches it.
type trouble struct {
	away    string // why the connection is lost; it may come back
	gaps    []trace.Gap
	dropped int64
	first   int    // how many of the oldest events are not kept
	pid     int    // of a program that was started again, 0 for the first
	after   string // which program it is a restart of
	gpu     string // that is imitated for it
	looking bool   // it has measured no whole step yet
}

// Disconnect loses the connection for a reason; "" brings it back.
func (p *Process) Disconnect(why string) { p.update(func() { p.away = why }) }

// Rehearse has the program run on an imitated GPU.
func (p *Process) Rehearse(gpu string) { p.update(func() { p.gpu = gpu }) }

// Miss trains a step of which so many events are lost: those that are there
// stand for a gap.
func (p *Process) Miss(events int64, why string) {
	p.update(func() {
		from := p.run.log.Len()
		p.run.train()
		p.gaps = append(p.gaps, trace.Gap{From: from - p.first, To: p.run.log.Len() - p.first, Missed: events, Reason: why})
		p.dropped += events
	})
}

// Pass reports a step in which the program did not measure its memory.
func (p *Process) Pass(allocated, reserved int64) {
	p.update(func() {
		last := p.run.steps[len(p.run.steps)-1]
		p.run.steps = append(p.run.steps, trace.Step{Number: last.Number + 1, Time: last.Time + 1, Duration: last.Duration, NoLoss: true, Allocated: allocated, Reserved: reserved})
	})
}

// Look has the program begin to measure its memory only now, or end its first look.
func (p *Process) Look(looking bool) { p.update(func() { p.looking = looking }) }

// Forget lets the oldest events go.
func (p *Process) Forget(events int) {
	p.update(func() {
		p.first += events
		for i := range p.gaps {
			p.gaps[i].From, p.gaps[i].To = p.gaps[i].From-events, p.gaps[i].To-events
		}
	})
}

// Restart makes the source that of another program, which has trained so many
// steps.
func (p *Process) Restart(steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	note := "process 4711 ended at step " + strconv.Itoa(len(p.run.steps)) + "; following its restart, process 4712"
	p.run, p.trouble = newLiveRun(), trouble{pid: 4712, after: note, gaps: []trace.Gap{{Missed: -1, Reason: note}}}
	for range steps {
		p.run.train()
	}
	p.publish()
}

// troubled changes a trace into what is seen of it.
func (p *Process) troubled(t *trace.Trace) *trace.Trace {
	t.Live.RehearsedOn, t.Live.Looking = p.gpu, p.looking
	if p.away != "" {
		t.Live.Connected, t.Live.Note = false, p.away
	}
	t.Live.Gaps, t.Live.Dropped = slices.Clone(p.gaps), p.dropped
	if d := &t.Devices[0]; p.first > 0 {
		d.Events, d.First, d.Overflowed = d.Events.Slice(p.first, d.Events.Len()), int64(p.first), true
	}
	if p.pid != 0 {
		t.Live.PID, t.Live.Note = p.pid, p.after
	}
	return t
}
