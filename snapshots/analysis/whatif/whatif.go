// Package whatif is a question and its answer: what would a program's recorded
// requests have taken under other settings of the allocator? It computes nothing:
// package engine/replay does, and reaches pages and reports as a function, an
// [Ask].
package whatif

import (
	"context"

	"github.com/memtop/memtop/snapshots/trace"
)

// Question is about one device of a trace.
type Question struct {
	Trace  *trace.Trace
	Device *trace.Device
	// Settings are tried one after another, each in the syntax of
	// PYTORCH_CUDA_ALLOC_CONF and in place of the recorded ones. nil is those that are
	// worth trying, see [Useful].
	Settings []string
	// Event is the out-of-memory event that is asked about; the last where it is none.
	Event int
	// Memory is how many bytes the device has; 0 is what the trace says.
	Memory int64
}

// Ask answers a question. It takes a time that grows with the trace, and ends early
// with the context's error when that is cancelled. A [*SettingsError] is about the
// question; other errors are the context's.
type Ask func(ctx context.Context, q Question) (*Answer, error)

// SettingsError says in one line what is wrong with settings that are to be
// tried.
type SettingsError struct{ Settings, Cause, Remedy string }

// Error names the settings and what is wrong with them.
func (e *SettingsError) Error() string {
	return "settings \"" + trace.Printable(trace.Shorten(e.Settings, longest)) + "\": " + trace.Printable(trace.Shorten(e.Cause, longest))
}

// Answer says what the requests took and what they would have taken. Sizes are
// bytes.
type Answer struct {
	Device   int
	Memory   int64 // as the question says
	Recorded Recorded
	// Again is the program under the recorded settings as the runs are made: what
	// it held when recording began is asked for anew. What differs between Again and
	// a run is the settings' doing. nil when the trace has no history.
	Again *Run
	Runs  []Run // in the order of the question's settings; none without a history
}

// Recorded is what happened.
type Recorded struct {
	Settings      string // "" for the defaults, or where the trace does not say
	PeakReserved  int64
	PeakAllocated int64 // in blocks, rounded; 0 when WhyNot says something
	Held          int64 // requested before recording began
	// WhyNot says why the replay under the recorded settings does not give the
	// recorded curve of reserved bytes, "" when it does, at every event.
	WhyNot string
	OOM    *OOM // the request that failed and is asked about, nil when none did
}

// OOM is a request that failed.
type OOM struct {
	Event    int   `json:"event"`
	Size     int64 `json:"requested_bytes"` // rounded
	Segment  int64 `json:"segment_bytes"`   // what was asked of the driver for it
	Reserved int64 `json:"reserved_bytes"`  // by the process then
	Capacity int64 `json:"capacity_bytes"`  // most that the process could reserve then
}

// Short returns how many bytes more the process would have needed.
func (o *OOM) Short() int64 { return max(o.Reserved+o.Segment-o.Capacity, 0) }

// Run is the program under some settings.
type Run struct {
	Settings      string
	PeakReserved  int64
	PeakAllocated int64 // in blocks, rounded as the settings say
	// OOM says that a request failed, OOMEvent at which event the first did: −1 when
	// none, or before the first event.
	OOM      bool
	OOMEvent int
	// Ends says that the recording met the request: the program would have ended
	// there, and so does the run.
	Ends bool
	// Fits says that the request of Recorded.OOM is met, Reserved what the process
	// has reserved with it.
	Fits     bool
	Reserved int64
	Note     string // what to know of the settings, "" for nothing
}
