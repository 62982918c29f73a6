package probe

import (
	"context"
	"errors"
	"net"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/probe/survey"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// Relay shows a program whose memory an agent senses in it: it does for an agent
// what a [Probe] does for the program that it is in. The agent's side is
// package sensor, which calls the methods that add what was sensed, one at a time.
// The others are safe for concurrent use.
type Relay struct {
	service
	agent    Agent
	feed     *feed
	box      *relayBox // nil without a black box
	counting sync.Mutex
	told     int          // the number of viewers that the agent knows
	turn     atomic.Int64 // how often viewers came when there were none
	until    time.Time    // until when changes that wait count as a viewer

	rehearsed string   // the imitated GPU, "" on a real device
	step      *stepEnd // of the step whose message comes next, nil if there is none

	mu      sync.Mutex
	program Program
	survey  *survey.Step  // nil before the first
	news    chan struct{} // closed when it is described again
	reason  string        // why the program's streams end, "" while they go on
}

// Agent is a program's agent. Its methods may be called from several goroutines;
// they return when the agent has answered, has gone, or ctx is done.
type Agent interface {
	// Watch tells it how many viewers there are, for the turn-th time that there are
	// some. It watches its program while there are. It does not wait.
	Watch(viewers int, turn int64)
	// Ask has it describe its program now. It does not wait.
	Ask()
	// Set changes a setting, from the next step on or from step at.
	Set(ctx context.Context, key, value string, at int64) error
}

// Identity says which program an agent is in.
type Identity struct {
	PID       int         `json:"pid"`
	Start     uint64      `json:"start"` // in clock ticks since boot
	Command   string      `json:"command"`
	Rank      *trace.Rank `json:"-"`
	Writer    string      `json:"writer"`
	Socket    string      `json:"socket"`    // the path of the listener
	BlackBox  string      `json:"black_box"` // MEMTOP_BLACK_BOX of the program
	Rehearsed string      `json:"rehearsed_on"`
	UID       int         `json:"-"`
}

// Program is an agent's description of its program.
type Program struct {
	Devices  []protocol.DeviceInfo `json:"devices"`
	Settings wire.Settings         `json:"settings"`
	Notices  []string              `json:"notices"`
	ReadOnly bool                  `json:"read_only"`
	Turn     int64                 `json:"turn"`    // of watching, for which the next two hold
	Looked   bool                  `json:"looked"`  // memory was measured since the first viewer came
	Looking  bool                  `json:"looking"` // no whole step was measured since then
	Options  []trace.Option        `json:"options"`
	Gauges   []trace.Gauge         `json:"gauges"`
}

// agentBox is the usual size of an agent's black box.
const agentBox = 8 << 20

// NewRelay shows a program on a socket on which it has begun to listen.
func NewRelay(o Options, who Identity, first Program, listener *net.UnixListener, agent Agent) (*Relay, error) {
	if why := (&protocol.Info{Devices: first.Devices}).Malformed(); why != "" {
		return nil, errors.New(why)
	}
	r := &Relay{agent: agent, feed: newFeed(), program: first, rehearsed: who.Rehearsed, news: make(chan struct{})}
	o.Rank, o.Writer, o.usualBox, o.wish = who.Rank, who.Writer, agentBox, &who.BlackBox
	o.ReadOnly, o.Control = first.ReadOnly, relayControl{r}
	if who.Rehearsed != "" {
		o.Box = -1
	}
	host, _ := os.Hostname() // viewers only display it, so it may be empty
	r.init(o, identity{pid: who.PID, start: who.Start, uid: who.UID, command: who.Command, user: userName(), host: host, started: startedAt(who.Start)})
	listener.SetUnlinkOnClose(false)
	r.socket = &socket{listener, who.Socket}
	r.viewers.changed = r.count
	r.beginBox()
	r.serve(r)
	return r, nil
}

// Started returns when the program began.
func (r *Relay) Started() time.Time { return time.UnixMicro(r.who.started) }

// Event adds an event. Its stack and note are numbers of the agent's.
func (r *Relay) Event(e trace.Event) {
	r.feed.event(e)
	r.box.wake()
}

// Step adds a step, in the form of its message, and returns it.
func (r *Relay) Step(text []byte) (*trace.Step, error) {
	f, err := wire.ReadMessage(wire.StepFrame, text)
	if err != nil {
		return nil, err
	}
	r.findPeak(f.Step)
	short := *f.Step
	short.Layers = nil // the feed keeps those that are kept: they are long
	r.steps.add(short)
	r.changes.stepped(&short)
	r.feed.step(f.Step, len(text))
	r.count()
	r.box.wake()
	return &short, nil
}

// Gauges adds gauges, which took so many bytes.
func (r *Relay) Gauges(g []trace.Gauge, bytes int) {
	r.feed.gauge(g, bytes)
	r.box.wake()
}

// Snapshot adds a snapshot. The notes of its tags are numbers of the agent's.
func (r *Relay) Snapshot(t *Taken) {
	if len(t.Steps) > 0 {
		r.step = &stepEnd{Taken: t}
	}
	r.feed.snapshot(t)
	r.box.wake()
}

// Forget forgets all live memory: the agent begins anew.
func (r *Relay) Forget() { r.feed.forget() }

// Looked says that the agent has sent all that it has found.
func (r *Relay) Looked() { r.box.renew() }

// Missed says that the agent could not send some events.
func (r *Relay) Missed(events int64) { r.meter.dropped.Add(events) }

// Describe replaces the description of the program.
func (r *Relay) Describe(p Program) error {
	if why := (&protocol.Info{Devices: p.Devices}).Malformed(); why != "" {
		return errors.New(why)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.Gauges == nil {
		p.Gauges = r.program.Gauges
	}
	if !reflect.DeepEqual(p.Options, r.program.Options) {
		r.changes.renew()
	}
	r.program = p
	close(r.news)
	r.news = make(chan struct{})
	return nil
}

// known returns the newest description of the program.
func (r *Relay) known() Program {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.program
	if p.Turn != r.turn.Load() {
		p.Looked, p.Looking = false, true
	}
	return p
}

// describeWithin is how long a viewer waits for a description that is new. A program
// that does not answer has not changed much.
const describeWithin = 300 * time.Millisecond

// fresh returns a description that the agent has given after the call, or the newest
// if it gives none in time.
func (r *Relay) fresh(within time.Duration) Program {
	r.mu.Lock()
	news := r.news
	r.mu.Unlock()
	r.agent.Ask()
	await(news, within)
	return r.known()
}

// Close ends the relay, and tells the viewers the reason; "" if the program was
// killed. It removes the black box, unless the program was killed.
func (r *Relay) Close(reason string) error {
	r.once.Do(func() {
		r.mu.Lock()
		r.reason = reason
		r.mu.Unlock()
		if reason == "" {
			_ = r.server.Close() // without a goodbye
		}
		r.end()
		r.box.close(reason != "")
	})
	return r.result()
}

// count tells the agent the number of viewers, if it has changed. A snapshot that is
// made counts as one, and so does, for a while, a change that waits for a step.
func (r *Relay) count() {
	r.counting.Lock()
	defer r.counting.Unlock()
	n := r.viewers.count() + len(r.saving)
	if r.changes.waiting.Load() == nil {
		r.until = time.Time{}
	} else {
		if r.until.IsZero() {
			r.until = time.Now().Add(changeCounts)
			time.AfterFunc(changeCounts, r.count)
		}
		if time.Now().Before(r.until) {
			n++
		}
	}
	if n != r.told {
		if r.told == 0 {
			r.turn.Add(1)
		}
		r.told = n
		r.agent.Watch(n, r.turn.Load())
		r.box.watch(n > 0)
	}
}

// changeCounts is how long a change that waits for a step counts as a viewer.
const changeCounts = time.Minute

func (r *Relay) capabilities(p *Program) []string {
	list := []string{protocol.CapabilitySnapshot, "steps", "stacks", protocol.CapabilityGauges}
	if !p.ReadOnly {
		list = append(list, protocol.CapabilityControl, protocol.CapabilityAt)
	}
	return list
}

func (r *Relay) info() protocol.Info {
	p := r.fresh(describeWithin)
	i := r.described()
	i.Capabilities, i.ReadOnly, i.Dropped = r.capabilities(&p), p.ReadOnly, r.meter.dropped.Load()
	i.Looking, i.Gauges, i.Devices = p.Looking, p.Gauges, slices.Clone(p.Devices)
	i.Devices[0].Events = r.feed.counted()
	i.Box = r.boxInfo(r.box.path())
	i.Step, i.LastStep = r.feed.last()
	return i
}

func (r *Relay) hello(interval time.Duration, p *Program) *wire.Hello {
	h := r.greeting(interval)
	h.Capabilities, h.ReadOnly, h.Settings = r.capabilities(p), p.ReadOnly, p.Settings
	h.RehearsedOn, h.Notices = r.rehearsed, p.Notices
	for _, d := range p.Devices {
		h.Devices = append(h.Devices, d.Device)
	}
	return h
}

// relayControl passes changes on to the agent.
type relayControl struct{ r *Relay }

func (c relayControl) Options() []trace.Option { return c.r.known().Options }

func (c relayControl) Set(key, value string) error { return c.SetAt(key, value, 0) }

func (c relayControl) SetAt(key, value string, at int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), setWithin)
	defer cancel()
	c.r.count()
	return c.r.agent.Set(ctx, key, value, at)
}

func (c relayControl) Predict(_ context.Context, wanted []trace.Value) (*trace.Prediction, error) {
	c.r.mu.Lock()
	surveyed := c.r.survey
	c.r.mu.Unlock()
	if len(wanted) != 1 || surveyed == nil {
		return nil, nil
	}
	return surveyed.Predict(c.Options(), wanted[0]), nil
}

// setWithin is how long an agent may take to accept a change: its program may be
// within a call that does not return to Python.
const setWithin = 30 * time.Second
