package trace

import (
	"context"
	"time"
)

// Trace holds everything that memtop knows about the memory of one process. It is
// an immutable value and safe for concurrent use. A growing source returns a new
// trace when more has come.
type Trace struct {
	Info    Info
	Tables  *Tables
	Devices []Device // ascending; those with a segment or an event
	// Pinned is the host memory of PyTorch's pinned allocator, as a device of its
	// own: its segments are what the system gave. It is nil in files without it.
	Pinned      *Device
	Annotations []Annotation
	Settings    []Setting // the allocator's, in file order
	Notices     []string  // a reader should know these before trusting the rest
	Steps       []Step    // ascending; as the program reported them
	Live        *Live     // of a running program and of recordings of one; nil for snapshots
}

// Device is the history of one device's allocator.
type Device struct {
	ID     int
	Events Events
	// First is the number of the first event in the program's own count. So it is
	// also how many earlier events are not kept. It is 0 in snapshots, because
	// they do not have that count.
	First int64
	// Base is the state before the first event, if the writer gave it. It is nil
	// in PyTorch's files: there, undoing the events gives the base. With a base,
	// every allocation held from before has its own stack and note, even after it
	// is freed.
	Base *State
	// Final is the state after the last event, as its writer gave it.
	Final State
	// Overflowed says that the writer's ring buffer lost earlier events.
	Overflowed bool
	// MaxEvents is the capacity of that ring buffer, 0 if not known.
	MaxEvents int64
}

// Info describes the source of a trace.
type Info struct {
	Path           string
	Kind           string // "snapshot", "recording" or "live"
	Container      string // "pickle", "gzip", "zstd", "html", "json", "mtr"
	PickleProtocol int    // -1 when there is no pickle
	Bytes          int64  // size of the file as stored
	Writer         string // the program that wrote it, for example "PyTorch 2.10–2.11"
	List           bool   // the file is a bare list of segments
	NoTraces       bool   // the file has no list of device traces at all
	TraceLists     int    // how many device traces the file has, empty ones included
	Growing        bool   // more may come
	Control        bool   // the process accepts settings
	Truncated      bool   // the file ends early; the trace has its readable part
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

// Source is a source of a trace: a file or a process.
type Source interface {
	// Trace returns a trace of all that is known now.
	Trace() *Trace
	// Close releases what the source holds. Traces already handed out stay valid.
	Close() error
}

// Growing is a source whose trace may grow.
type Growing interface {
	Source
	// Changed returns a channel with room for one value. It receives a value when
	// Trace has a newer trace to return, and is closed when no more will come.
	// All calls return the same channel.
	Changed() <-chan struct{}
}

// Controller is a source whose program takes settings for its next step.
type Controller interface {
	// Set asks for another value and returns the change as the program noted it,
	// usually pending. Trace.Live.Changes shows later whether the program applied
	// or refused it. An error says in one line why nothing was changed.
	Set(ctx context.Context, key, value string) (Change, error)
}

// Progress receives the progress of a load: the bytes read, and the total bytes,
// 0 if not known. The loading goroutine calls it often, so it must return at
// once.
type Progress func(read, total int64)

// Device returns the device with that id, or nil if there is none.
func (t *Trace) Device(id int) *Device {
	for i := range t.Devices {
		if t.Devices[i].ID == id {
			return &t.Devices[i]
		}
	}
	return nil
}

// When returns the time of an event, or the zero time if it has none.
func (e *Event) When() time.Time {
	if e.Absent&NoTime != 0 {
		return time.Time{}
	}
	return time.UnixMicro(e.Time)
}
