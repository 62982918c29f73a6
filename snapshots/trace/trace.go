package trace

import (
	"context"
	"time"
)

// Trace is everything known about one process's memory. It is an immutable
// value and safe for concurrent use; a growing source hands out a new one.
type Trace struct {
	Info        Info
	Tables      *Tables
	Devices     []Device // ascending; those with a segment or an event
	Annotations []Annotation
	Settings    []Setting // the allocator's, in file order
	Notices     []string  // what a reader should know before trusting the rest
	Steps       []Step    // ascending; what the program reported of its steps
	Live        *Live     // of a running program and of recordings of one; nil for snapshots
}

// Device is the history of one device's allocator.
type Device struct {
	ID     int
	Events Events
	// First is the number of the first event here in the program's own count:
	// how many came before that are not kept. 0 in snapshots, which do not say.
	First int64
	// Base is the state before the first event, where the writer gave it: nil in
	// PyTorch's files, whose base follows from undoing the events. With it what was
	// held from before is known by its own stack and note however it ends.
	Base *State
	// Final is the state after the last event, as its writer gave it.
	Final State
	// Replay has the lifetimes of Events, if who read them has replayed them; nil
	// is right, too.
	Replay *Replay
	// Overflowed says that the writer's ring buffer lost earlier events.
	Overflowed bool
	// MaxEvents is the capacity of that ring buffer, 0 when not known.
	MaxEvents int64
}

// Info says what a trace was read from.
type Info struct {
	Path           string
	Kind           string // "snapshot", "recording" or "live"
	Container      string // "pickle", "gzip", "zstd", "html", "json", "mtr"
	PickleProtocol int    // -1 when there is no pickle
	Bytes          int64  // size of the file as stored
	Writer         string // what wrote it, for example "PyTorch 2.10–2.11"
	List           bool   // the file is a bare list of segments
	NoTraces       bool   // the file has no list of device traces at all
	TraceLists     int    // how many device traces the file has, empty ones included
	Growing        bool   // more may come
	Control        bool   // the process accepts settings
	Truncated      bool   // the file ends early; what was readable is here
}

// Annotation is one end of a named range that the program marked.
type Annotation struct {
	Name   StringID
	Stage  StringID // "START" or "END"
	Device int32
	Time   int64 // microseconds since the epoch
}

// Setting is one entry of the allocator's settings. Value is nil, a bool, an
// int64, a float64, a string, a []any of these or a []Setting.
type Setting struct {
	Key   string
	Value any
}

// Source is something that a trace can be read from, a file or a process.
type Source interface {
	// Trace returns what is known now.
	Trace() *Trace
	// Close releases what the source holds. Traces already handed out stay valid.
	Close() error
}

// Growing is a source of which more may come.
type Growing interface {
	Source
	// Changed returns a channel with room for one that receives when Trace
	// returns something newer than it did, and is closed when nothing more will
	// come. All calls return the same channel.
	Changed() <-chan struct{}
}

// Controller is a source whose program takes settings for its next step.
type Controller interface {
	// Set asks for another value and returns the change as the program noted it,
	// usually pending; what becomes of it shows in Trace.Live.Changes. An error
	// says in one line why nothing was changed.
	Set(ctx context.Context, key, value string) (Change, error)
}

// Progress receives how far a load has come: bytes read of bytes in all, which
// is 0 when not known. It is called from the loading goroutine, often, and
// must return at once.
type Progress func(read, total int64)

// Device returns the device with that id, or nil.
func (t *Trace) Device(id int) *Device {
	for i := range t.Devices {
		if t.Devices[i].ID == id {
			return &t.Devices[i]
		}
	}
	return nil
}

// When returns the moment of an event, or the zero time when it has none.
func (e *Event) When() time.Time {
	if e.Absent&NoTime != 0 {
		return time.Time{}
	}
	return time.UnixMicro(e.Time)
}
