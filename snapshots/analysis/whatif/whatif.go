// Package whatif has the types of a question and its answer: how much memory
// would a program's recorded requests have taken under other settings of the
// allocator? It runs no replay: package engine/replay does, and pages and reports
// get it as a function, an [Ask].
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
	// PYTORCH_CUDA_ALLOC_CONF and in place of the recorded settings. nil means
	// the settings of [Useful].
	Settings []string
	// Releases of PyTorch, such as "2.15", whose allocators are tried, each under all
	// settings. Settings that are nil are then the recorded ones. Without releases
	// the recording's is tried.
	Releases []string
	// Graphs are changes of the program's CUDA graphs, each tried alone under the
	// recorded settings. They are captured by the end of event Captured.
	Graphs   []GraphChange
	Captured int
	// Event is the out-of-memory event in question. If the event is of another
	// kind, the last out-of-memory event counts.
	Event int
	// Memory is how many bytes the device has; 0 means as the trace says.
	Memory int64
	// Exact says that an estimate is of no use: nothing is run if the replay under the
	// recorded settings differs from the recording.
	Exact bool
}

// Ask answers a question. Its time grows with the length of the trace. If the
// context is cancelled, it returns early with the context's error. A
// [*SettingsError] is about the question; all other errors are the context's.
type Ask func(ctx context.Context, q Question) (*Answer, error)

// SettingsError says in one line why the settings of a question are invalid.
type SettingsError struct{ Settings, Cause, Remedy string }

// Error names the settings and the cause.
func (e *SettingsError) Error() string {
	return "settings \"" + trace.Printable(trace.Shorten(e.Settings, longest)) + "\": " + trace.Printable(trace.Shorten(e.Cause, longest))
}

// Answer says how much memory the requests took, and how much they would have
// taken. Sizes are bytes.
type Answer struct {
	Device   int
	Memory   int64 // as the question says
	Recorded Recorded
	// Again is a run under the recorded settings. Like all runs, it requests anew
	// the memory that the program held when recording began. So a difference
	// between Again and another run comes from the settings. It is nil if the
	// trace has no history.
	Again *Run
	Runs  []Run // in the order of the question's settings; none without a history
	// Graphs are in the order of the question's.
	Graphs []Run
}

// Recorded is what the recorded program really took.
type Recorded struct {
	Settings      string // "" for the defaults, or if the trace does not say
	PeakReserved  int64
	PeakAllocated int64 // in blocks, rounded; 0 when WhyNot says something
	Held          int64 // requested before recording began
	// WhyNot says why the replay under the recorded settings does not give the
	// recorded curve of reserved bytes. It is "" if the replay gives the curve at
	// every event.
	WhyNot string
	OOM    *OOM // the failed request in question, nil if none failed
	// Capacity is the most that the process is known to have been able to reserve, 0 if
	// the trace does not show it. Refused is the least level above PeakReserved that
	// the driver refused before the cache was given back, 0 for none.
	Capacity, Refused int64
}

// OOM is a request that failed.
type OOM struct {
	Event    int   `json:"event"`
	Size     int64 `json:"requested_bytes"` // rounded
	Segment  int64 `json:"segment_bytes"`   // what was asked of the driver for it
	Reserved int64 `json:"reserved_bytes"`  // by the process then
	Capacity int64 `json:"capacity_bytes"`  // the most that the process could reserve then
}

// Short returns how many more bytes the process would have needed.
func (o *OOM) Short() int64 { return max(o.Reserved+o.Segment-o.Capacity, 0) }

// Run is the program under some settings.
type Run struct {
	Settings      string `json:"alloc_conf"`
	Torch         string `json:"torch,omitempty"` // the release of PyTorch, "" for the recording's
	PeakReserved  int64  `json:"peak_reserved_bytes"`
	PeakAllocated int64  `json:"peak_allocated_bytes"` // in blocks, rounded as the settings say
	Captured      int64  `json:"-"`                    // reserved after the question's event Captured
	// OOM says that a request failed. OOMEvent is the event of the first failure;
	// it is −1 if none failed, or if one failed before the first event.
	OOM      bool `json:"oom"`
	OOMEvent int  `json:"-"`
	// Ends says that the recorded program got the memory for the request. In this
	// run the program would have ended there, so the run ends.
	Ends bool `json:"-"`
	// Fits says that the run serves the request of Recorded.OOM. Reserved is what
	// the process has reserved with it.
	Fits     bool   `json:"fits"`
	Reserved int64  `json:"-"`
	Note     string `json:"note,omitempty"` // what to know of the settings, "" for nothing
}
