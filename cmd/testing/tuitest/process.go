package tuitest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/memtop/memtop/snapshots/trace"
)

// Process imitates a running program: a source that grows when a test makes it
// grow, and that takes settings. It is safe for concurrent use.
type Process struct {
	mu      sync.Mutex
	run     *liveRun
	now     *trace.Trace
	note    string        // why nothing more comes, "" while something may
	changed chan struct{} // closed by Lose
	asked   []string
	err     error
	refuse  map[string]string
	trouble
}

// NewProcess returns a program that has trained a number of steps.
func NewProcess(steps int) *Process {
	p := &Process{run: newLiveRun(), changed: make(chan struct{}, 1), refuse: make(map[string]string)}
	for range steps {
		p.run.train()
	}
	p.publish()
	return p
}

// Live returns the trace of a running program after a number of steps. The events
// of Live(n) are the beginning of those of Live(n+1).
func Live(steps int) *trace.Trace { return NewProcess(steps).Trace() }

// Recording returns a recording of a run in which settings were changed: one
// change has been measured, one is settling, one was refused, one waits.
func Recording() *trace.Trace {
	p := NewProcess(24)
	p.change("checkpoint", "block", 20)
	p.Refuse("optimizer", "the state of adamw is not that of sgd")
	p.change("optimizer", "sgd", 4)
	p.change("amp", "bf16", 3)
	p.change("lr", "0.0001", 0)
	t := *p.Trace()
	live := *t.Live
	live.Connected, live.Note = false, ""
	t.Live = &live
	t.Info.Kind, t.Info.Growing, t.Info.Control, t.Info.Path, t.Info.Bytes = "recording", false, false, "run.mtr", 1<<20
	return &t
}

func (p *Process) change(key, value string, steps int) {
	if _, err := p.Set(context.Background(), key, value); err != nil {
		panic("tuitest: " + err.Error())
	}
	p.Train(steps)
}

// Trace returns what is known now.
func (p *Process) Trace() *trace.Trace {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// Close does nothing.
func (p *Process) Close() error { return nil }

// Changed returns the channel that receives when there is something newer.
func (p *Process) Changed() <-chan struct{} { return p.changed }

// Train trains more steps and reports them at once. With 0 steps it only signals
// a change.
func (p *Process) Train(steps int) {
	p.update(func() {
		for range steps {
			p.run.train()
		}
	})
}

// Begin runs the first half of a step and reports it.
func (p *Process) Begin() { p.update(func() { p.run.begin() }) }

// Join makes the program a rank of a job.
func (p *Process) Join(r trace.Rank) { p.update(func() { p.run.rank = &r }) }

// Lose ends the connection for a reason; what is known stays.
func (p *Process) Lose(why string) {
	p.update(func() { p.note = why })
	close(p.changed)
}

// Fail lets every Set fail from now on; nil ends that.
func (p *Process) Fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

// Refuse lets the program refuse every value of a setting, for a reason.
func (p *Process) Refuse(key, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse[key] = why
}

// Asked returns what was asked for so far, each "key=value".
func (p *Process) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// Set notes a change, which the next step makes.
func (p *Process) Set(ctx context.Context, key, value string) (trace.Change, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, key+"="+value)
	if err := errors.Join(ctx.Err(), p.err); err != nil {
		return trace.Change{}, err
	}
	c := p.run.want(key, value, p.refuse[key])
	p.publish()
	return c, nil
}

// Predict says what changes are expected to do together, as Set does, and makes
// none.
func (p *Process) Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := errors.Join(ctx.Err(), p.err); err != nil {
		return nil, err
	}
	all := new(trace.Prediction)
	for _, c := range changes {
		if c.Key != "checkpoint" && c.Key != "amp" {
			return nil, nil //nolint:nilnil // it is how a program says that it does not know
		}
		one := p.run.predict(c.Value)
		all.PeakAllocated, all.Activation = all.PeakAllocated+one.PeakAllocated, all.Activation+one.Activation
	}
	return all, nil
}

// Headroom says how many samples fit, of which each takes less with every change.
func (p *Process) Headroom(ctx context.Context, changes []trace.Value, capacity int64) (*trace.Headroom, error) {
	if capacity == 0 {
		capacity = 2 << 30
	}
	h := &trace.Headroom{Capacity: capacity, Samples: 8, Parts: 1, Fixed: 8 << 20, PerSample: int64(3-len(changes)) << 19}
	h.PeakAllocated = h.Fixed + 8*h.PerSample
	h.PeakReserved, h.Most = h.PeakAllocated, int((capacity-h.Fixed)/h.PerSample)
	return h, ctx.Err()
}

// update changes the program and publishes what it is then.
func (p *Process) update(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.publish()
}

// publish makes the trace of now and tells who waits for it.
func (p *Process) publish() {
	p.now = p.troubled(p.run.snapshot(p.note))
	if p.note != "" {
		return
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// want notes a change and what is expected of it.
func (r *liveRun) want(key, value, refused string) trace.Change {
	c := trace.Change{ID: int64(len(r.changes)) + 1, Time: r.now, Key: key, From: r.setting(key), To: value}
	switch {
	case refused != "":
		c.State, c.Reason = trace.Refused, refused
	default:
		for i := range r.options {
			if r.options[i].Key == key {
				c.From, r.options[i].Value = r.options[i].Value, value
			}
		}
		if key == "checkpoint" || key == "amp" {
			c.Predicted = r.predict(value)
		}
	}
	r.changes = append(r.changes, c)
	return c
}

// predict is near to what happens, as an estimate is.
func (r *liveRun) predict(value string) *trace.Prediction {
	sign := int64(-1)
	if value == "none" || value == "off" {
		sign = 1
	}
	return &trace.Prediction{PeakAllocated: sign * 6_000_000, Activation: sign * 6_200_000}
}

// apply makes what was asked for hold from this step on.
func (r *liveRun) apply(number int64) {
	for i := range r.changes {
		c := &r.changes[i]
		if c.State != trace.Pending {
			continue
		}
		c.State, c.Step = trace.Applied, number
		for k := range r.settings {
			if r.settings[k].Key == c.Key {
				r.settings[k].Value = c.To
			}
		}
		r.now++
		at := r.log.Append(trace.Event{Kind: trace.SettingChanged, Size: number, Time: r.now})
		r.log.At(at).Note = r.in.Note(trace.Note{UserMetadata: r.in.String(c.Key + "=" + c.To)})
	}
}

// snapshot returns everything that is known now. It shares nothing that the run
// will change.
func (r *liveRun) snapshot(lost string) *trace.Trace {
	final, tables := r.state(), r.in.View()
	live := &trace.Live{
		PID: 4711, Command: "memtrain --steps 0", User: "ada", Started: began, Rank: r.rank, Connected: lost == "", Note: lost,
		Options: slices.Clone(r.options), Changes: slices.Clone(r.changes), ProbeNS: int64(len(r.steps)) * 21_000,
	}
	for i := range r.steps {
		s := &r.steps[i]
		live.Gauges = append(live.Gauges, trace.Gauge{
			Time: s.Time, Total: 2 << 30, Used: s.Reserved + 96<<20, Process: s.Reserved + 32<<20, Others: 64 << 20,
			Utilisation: 87, Temperature: 61, Power: 240_000,
		})
	}
	return &trace.Trace{
		Info: trace.Info{
			Path: "pid 4711", Kind: "live", Container: "mtr", PickleProtocol: -1, Writer: "memtop engine", TraceLists: 1,
			Growing: lost == "", Control: true,
		},
		Tables: &tables, Devices: []trace.Device{{Events: r.log.Events(), Final: final}},
		Steps: slices.Clone(r.steps), Live: live,
	}
}
