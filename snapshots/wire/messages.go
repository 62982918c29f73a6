package wire

import (
	"github.com/memtop/memtop/snapshots/trace"
)

// # Messages
//
// A message is a frame of JSON. All that makes one is on this page: its type, the
// field it is read into, what a [Stream] makes of it, and the method of [Encoder]
// that sends it.

// The types of messages.
const (
	HelloFrame    Type = firstMessage + iota // who is talking: the first frame of a stream
	SettingsFrame                            // the allocator's settings
	StepFrame                                // a training step that ended
	OptionsFrame                             // what may be changed
	ChangeFrame                              // what has become of one change
	GaugesFrame                              // looks at the device from outside
	CountersFrame                            // the end of a batch: what came since the last belongs together
	ByeFrame                                 // the end
	messagesEnd
)

// Message is what a message says, in the field of its type. Bye says it in the
// frame's Reason.
type Message struct {
	Hello    *Hello
	Settings []trace.Setting
	Step     *trace.Step
	Options  []trace.Option
	Change   *trace.Change
	Gauges   []trace.Gauge
	Counters Counters
}

// message is how a message is called, where its JSON is read into, and what a
// stream makes of it.
type message struct {
	name string
	into func(*Frame) any
	take func(*Stream, *Frame)
}

var messages = [messagesEnd]message{
	HelloFrame: { // it may be another program's, so [Stream.take] greets it
		"hello", func(f *Frame) any { f.Hello = &Hello{}; return f.Hello }, nil,
	},
	SettingsFrame: {
		"settings", func(f *Frame) any { return (*Settings)(&f.Settings) },
		func(s *Stream, f *Frame) { s.settings = f.Settings; s.describe() },
	},
	StepFrame: {
		"step", func(f *Frame) any { f.Step = &trace.Step{NoLoss: true}; return jsonOf(f.Step) },
		func(s *Stream, f *Frame) { s.add(f.Step) },
	},
	OptionsFrame: {
		"options", func(f *Frame) any { return &f.Options },
		func(s *Stream, f *Frame) { s.live.Options = f.Options },
	},
	ChangeFrame: {
		"change", func(f *Frame) any { f.Change = &trace.Change{}; return f.Change },
		func(s *Stream, f *Frame) { s.change(f.Change) },
	},
	GaugesFrame: {
		"gauges", func(f *Frame) any { return &f.Gauges },
		func(s *Stream, f *Frame) { s.live.Gauges = keep(append(s.live.Gauges, f.Gauges...), s.shares.gauges) },
	},
	CountersFrame: {
		"counters", func(f *Frame) any { return &f.Counters },
		func(s *Stream, f *Frame) { s.count(f.Counters) },
	},
	ByeFrame: {
		"bye", func(f *Frame) any { return &bye{&f.Reason} },
		func(s *Stream, f *Frame) { s.ended = true; s.Disconnect(f.Reason) },
	},
}

// Hello says who is talking and what it can do.
type Hello struct {
	Version      int         `json:"version"`
	Minor        int         `json:"minor"`
	Capabilities []string    `json:"capabilities"` // such as "control", "stacks", "steps", "gauges"
	PID          int         `json:"pid"`
	Command      string      `json:"command"`
	User         string      `json:"user"`
	Host         string      `json:"host"`
	Writer       string      `json:"writer"`                 // what made the events, such as "memtop's engine"
	Started      int64       `json:"started_us"`             // when the program began, microseconds since the epoch
	Devices      []int       `json:"devices"`                // ascending
	ReadOnly     bool        `json:"read_only"`              // nothing can be changed
	Interval     int64       `json:"interval_ns"`            // between batches
	Settings     Settings    `json:"settings"`               // of the allocator
	Rank         *trace.Rank `json:"rank,omitempty"`         // nil for a program that is alone
	RehearsedOn  string      `json:"rehearsed_on,omitempty"` // the GPU that is imitated for the program, "" where none is
	Notices      []string    `json:"notices,omitempty"`      // what a viewer should know before it trusts the rest
}

// maxNotices is how many notices of a program are shown.
const maxNotices = 8

// Counters are sums since the program began.
type Counters struct {
	Time         int64 `json:"time_us"`       // of the batch's end, microseconds since the epoch
	Dropped      int64 `json:"dropped"`       // events that viewers have missed
	DroppedSteps int64 `json:"dropped_steps"` // likewise steps
	ProbeNS      int64 `json:"probe_ns"`      // what reporting cost the program
}

type bye struct {
	Reason *string `json:"reason"`
}

// Hello sends who is talking. It comes first. The version is filled in.
func (e *Encoder) Hello(h *Hello) {
	sent := *h
	sent.Version, sent.Minor = Version, Minor
	e.message(HelloFrame, &sent)
}

// Settings sends the allocator's settings, when they differ from those of
// Hello. Block sizes follow from them: send bases after it.
func (e *Encoder) Settings(s []trace.Setting) { e.message(SettingsFrame, Settings(s)) }

// Step sends a step that ended; without its layers where they are too many
// for a frame.
func (e *Encoder) Step(s *trace.Step) {
	if !e.short(StepFrame, jsonOf(s)) {
		few := *s
		few.Layers = nil
		e.message(StepFrame, jsonOf(&few))
	}
}

// Options sends all that may be changed, whenever some of it is otherwise.
func (e *Encoder) Options(o []trace.Option) { e.message(OptionsFrame, o) }

// Change sends a change, new or moved on.
func (e *Encoder) Change(c *trace.Change) { e.message(ChangeFrame, c) }

// Gauges sends looks at the devices from outside.
func (e *Encoder) Gauges(g []trace.Gauge) { e.message(GaugesFrame, g) }

// Counters ends a batch: what came since the last belongs together, and a
// viewer draws now.
func (e *Encoder) Counters(c Counters) { e.message(CountersFrame, c) }

// Bye ends the stream and says why.
func (e *Encoder) Bye(reason string) { e.message(ByeFrame, bye{&reason}) }
