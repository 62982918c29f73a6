package wire

import (
	"hash/crc32"

	"memtop/snapshots/trace"
)

// Type says what a frame is.
type Type uint8

// The types of frames. Types up to 127 that are not here are skipped.
const (
	// StringsFrame and the six that follow it add entries to the tables that
	// states and events refer to by number.
	StringsFrame Type = 1 + iota
	ListsFrame
	PoolsFrame
	StreamsFrame
	FramesFrame
	StacksFrame
	NotesFrame
	BaseFrame     // the whole memory of a device at one moment
	EventsFrame   // what happened next
	HelloFrame    // who is talking: the first frame of a stream
	SettingsFrame // the allocator's settings
	StepFrame     // a training step that ended
	OptionsFrame  // what may be changed
	ChangeFrame   // what has become of one change
	GaugesFrame   // looks at the device from outside
	CountersFrame // the end of a batch: what came since the last belongs together
	ByeFrame      // the end
	typeEnd
)

var typeNames = [typeEnd]string{
	"", "strings", "lists", "pools", "streams", "frames", "stacks", "notes", "base", "events", "hello",
	"settings", "step", "options", "change", "gauges", "counters", "bye",
}

// String returns the type's name, which is its "type" in the lines of JSON.
func (t Type) String() string {
	if t < typeEnd {
		return typeNames[t]
	}
	return "unknown"
}

// table reports whether frames of the type add to the tables.
func (t Type) table() bool { return t >= StringsFrame && t <= NotesFrame }

// json reports whether the payload is JSON.
func (t Type) json() bool { return t >= HelloFrame && t < typeEnd }

// castagnoli is the polynomial of the checksums: processors compute it.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const checksumSize = 4

// Frame is one frame as a [Decoder] read it. Which fields are set depends on
// Type. States, events and notes refer to the decoder's tables. Events are valid
// until the next call of Next; everything else is the caller's.
type Frame struct {
	Type Type

	Device int   // Base, Events
	First  int64 // Base, Events: number of the next or the first event in the program's count
	State  trace.State
	Missed int64  // Base: events before it that this stream does not have, -1 when not known
	Reason string // Base: why it was sent; Bye: why it ends
	Events []trace.Event

	Hello    *Hello
	Settings []trace.Setting
	Step     *trace.Step
	Options  []trace.Option
	Change   *trace.Change
	Gauges   []trace.Gauge
	Counters Counters
}

// Hello says who is talking and what it can do.
type Hello struct {
	Version      int      `json:"version"`
	Minor        int      `json:"minor"`
	Capabilities []string `json:"capabilities"` // such as "control", "stacks", "steps", "gauges"
	PID          int      `json:"pid"`
	Command      string   `json:"command"`
	User         string   `json:"user"`
	Host         string   `json:"host"`
	Writer       string   `json:"writer"`      // what made the events, such as "memtop's engine"
	Started      int64    `json:"started_us"`  // when the program began, microseconds since the epoch
	Devices      []int    `json:"devices"`     // ascending
	ReadOnly     bool     `json:"read_only"`   // nothing can be changed
	Interval     int64    `json:"interval_ns"` // between batches
	Settings     Settings `json:"settings"`    // of the allocator
}

// Counters are sums since the program began.
type Counters struct {
	Time         int64 `json:"time_us"`       // of the batch's end, microseconds since the epoch
	Dropped      int64 `json:"dropped"`       // events that the program could not tell of
	DroppedSteps int64 `json:"dropped_steps"` // likewise steps
	ProbeNS      int64 `json:"probe_ns"`      // what reporting cost the program
}
