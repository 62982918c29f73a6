package wire

import (
	"encoding/json"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Messages
//
// A message is a frame of JSON. This file has everything about it: its type, the
// field into which it is decoded, how a [Stream] uses it, and the method of
// [Encoder] that sends it.

// The types of messages.
const (
	HelloFrame    Type = firstMessage + iota // identifies the program: the first frame of a stream
	SettingsFrame                            // the allocator's settings
	StepFrame                                // a training step that ended
	OptionsFrame                             // the settings that viewers may change
	ChangeFrame                              // the state of one change
	GaugesFrame                              // gauges of the device
	CountersFrame                            // the end of a batch
	ByeFrame                                 // the end
	messagesEnd
)

// Message is the content of a message, in the field of its type. Bye has its
// content in the frame's Reason.
type Message struct {
	Hello    *Hello
	Settings []trace.Setting
	Step     *trace.Step
	Options  []trace.Option
	Change   *trace.Change
	Gauges   []trace.Gauge
	Counters Counters
}

// message is a message's name, the field for its JSON, and how a stream uses it.
type message struct {
	name string
	into func(*Frame) any
	take func(*Stream, *Frame)
}

var messages = [messagesEnd]message{
	HelloFrame: { // it may be from another program, so [Stream.take] handles it
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

// Hello identifies the program and says what it can do.
type Hello struct {
	Version      int            `json:"version"`
	Minor        int            `json:"minor"`
	Capabilities []string       `json:"capabilities"` // such as "control", "stacks", "steps", "gauges"
	PID          int            `json:"pid"`
	Command      string         `json:"command"`
	User         string         `json:"user"`
	Host         string         `json:"host"`
	Writer       string         `json:"writer"`                 // the software that made the events, such as "memtop's engine"
	Started      int64          `json:"started_us"`             // when the program began, microseconds since the epoch
	Devices      []int          `json:"devices"`                // ascending
	ReadOnly     bool           `json:"read_only"`              // settings cannot be changed
	Interval     int64          `json:"interval_ns"`            // between batches
	Settings     Settings       `json:"settings"`               // of the allocator
	Rank         *trace.Rank    `json:"rank,omitempty"`         // nil for a single program
	RehearsedOn  string         `json:"rehearsed_on,omitempty"` // the imitated GPU, "" on a real device
	Notices      []string       `json:"notices,omitempty"`      // limits of the data that viewers must show
	Learnt       []trace.Learnt `json:"learnt,omitempty"`       // by earlier viewers
}

// maxNotices is how many notices of a program are shown.
const maxNotices = 8

// Counters are sums since the program began.
type Counters struct {
	Time         int64 `json:"time_us"`       // of the batch's end, microseconds since the epoch
	Dropped      int64 `json:"dropped"`       // events that viewers have missed
	DroppedSteps int64 `json:"dropped_steps"` // likewise steps
	ProbeNS      int64 `json:"probe_ns"`      // what reporting cost the program
	// Looking says that a program that measures its memory only while it is
	// watched has not measured a whole step yet.
	Looking bool `json:"looking,omitempty"`
}

type bye struct {
	Reason *string `json:"reason"`
}

// ReadMessage reads the JSON of a message.
func ReadMessage(t Type, text []byte) (Message, error) {
	var f Frame
	err := json.Unmarshal(text, messages[t].into(&f))
	return f.Message, err
}

// Hello identifies the program. It must be the first message. Hello fills in the
// version.
func (e *Encoder) Hello(h *Hello) {
	sent := *h
	sent.Version, sent.Minor = Version, Minor
	e.message(HelloFrame, &sent)
}

// Settings sends the allocator's settings, when they differ from those of
// Hello. Block sizes follow from them: send bases after it.
func (e *Encoder) Settings(s []trace.Setting) { e.message(SettingsFrame, Settings(s)) }

// Step sends an ended step, without its layers if they do not fit into a frame.
func (e *Encoder) Step(s *trace.Step) {
	if !e.short(StepFrame, jsonOf(s)) {
		few := *s
		few.Layers = nil
		e.message(StepFrame, jsonOf(&few))
	}
}

// Options sends all settings that viewers may change, whenever one of them is
// different.
func (e *Encoder) Options(o []trace.Option) { e.message(OptionsFrame, o) }

// Change sends a new change, or one with a new state.
func (e *Encoder) Change(c *trace.Change) { e.message(ChangeFrame, c) }

// Gauges sends gauges of the devices.
func (e *Encoder) Gauges(g []trace.Gauge) { e.message(GaugesFrame, g) }

// Counters ends a batch. The frames since the last Counters belong together, and
// a viewer draws now.
func (e *Encoder) Counters(c Counters) { e.message(CountersFrame, c) }

// Bye ends the stream and says why.
func (e *Encoder) Bye(reason string) { e.message(ByeFrame, bye{&reason}) }
