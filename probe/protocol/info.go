package protocol

import (
	"time"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// Info is a program's answer at /v1/info. Its texts come from the
// program and are not made printable.
type Info struct {
	Version      int          `json:"version"` // of the protocol
	Capabilities []string     `json:"capabilities"`
	PID          int          `json:"pid"` // in the program's own namespace
	Command      string       `json:"command"`
	User         string       `json:"user"`
	Host         string       `json:"host"`
	Writer       string       `json:"writer,omitempty"`
	Started      int64        `json:"started_us"` // microseconds since the epoch
	ReadOnly     bool         `json:"read_only"`  // settings cannot be changed
	Step         int64        `json:"step"`       // the last that ended, 0 for none yet
	Devices      []DeviceInfo `json:"devices"`
	Viewers      int          `json:"viewers"` // with an open stream
	Changing     string       `json:"changing,omitempty"`
	ProbeNS      int64        `json:"probe_ns"`
	ViewersNS    int64        `json:"viewers_ns"` // spent on viewers, on other goroutines than the program's
	Dropped      int64        `json:"dropped_events"`
	DroppedSteps int64        `json:"dropped_steps"`
	Looking      bool         `json:"looking,omitempty"` // it measures only while it is watched, and has measured no whole step yet

	Rank     *trace.Rank   `json:"rank,omitempty"`      // nil for a single program
	LastStep *LastStep     `json:"last_step,omitempty"` // nil before the first
	Gauges   []trace.Gauge `json:"gauges,omitempty"`    // the program's own gauges, if it has any
	Box      *BoxInfo      `json:"black_box,omitempty"` // nil if the program wants none
}

// BoxInfo says where a program has its black box, or why it has none.
type BoxInfo struct {
	Path    string `json:"path"` // as the program sees it
	Problem string `json:"problem"`
}

// DeviceInfo is the memory of one device, at the time of Known, or now.
type DeviceInfo struct {
	Device    int    `json:"device"`
	Allocated int64  `json:"allocated_bytes"`
	Requested *int64 `json:"requested_bytes,omitempty"` // nil when the program does not say
	Reserved  int64  `json:"reserved_bytes"`
	Events    int64  `json:"events"` // recorded since the probe began
	// OutOfMemory is how many requests failed for lack of memory since the probe
	// began, nil when the program does not say.
	OutOfMemory *int64 `json:"out_of_memory,omitempty"`
	// Known is when the program measured the bytes, in microseconds since the epoch:
	// 0 when it has not measured them yet, nil for now.
	Known *int64 `json:"known_us,omitempty"`
}

// IsKnown reports whether the program knows the bytes.
func (d *DeviceInfo) IsKnown() bool { return d.Known == nil || *d.Known > 0 }

// Age is how old the bytes are, 0 for current ones.
func (d *DeviceInfo) Age(now time.Time) time.Duration {
	if known := known(d.Known); known > 0 {
		return max(0, now.Sub(time.UnixMicro(known)))
	}
	return 0
}

// LastStep is the last step that ended, in the form of [trace.Step].
type LastStep struct {
	Duration      int64          `json:"duration_ns"`
	Loss          *wire.Float    `json:"loss,omitempty"`  // nil if the program gives none
	Device        int            `json:"device"`          // the device of the following numbers
	Allocated     int64          `json:"allocated_bytes"` // 0 when the program does not say
	PeakAllocated int64          `json:"peak_allocated_bytes"`
	PeakReserved  int64          `json:"peak_reserved_bytes"`
	Categories    []trace.Amount `json:"categories"`
	AtPeak        []trace.Amount `json:"categories_at_peak,omitempty"`
	Settings      []trace.Value  `json:"settings,omitempty"`
}

// Capabilities of a probe, the words in Info.Capabilities.
const (
	CapabilitySnapshot = "snapshot" // /v1/snapshot
	CapabilityControl  = "control"  // settings may be changed
	CapabilityGauges   = "gauges"   // the driver's gauges are available
	CapabilityAt       = "at"       // viewers may name the step from which a change holds
)

// Malformed says why an answer is not one of a probe, "" when it is valid.
func (i *Info) Malformed() string {
	if len(i.Devices) == 0 {
		return "it has no device"
	}
	last := -1
	for _, d := range i.Devices {
		if d.Device <= last || d.Device >= MaxDevices {
			return "its devices are not ascending numbers"
		}
		if last = d.Device; min(d.Allocated, d.Reserved, d.Events, known(d.Requested), known(d.OutOfMemory), known(d.Known)) < 0 {
			return "a size is negative"
		}
	}
	if min(i.Step, i.ProbeNS, i.ViewersNS, i.Dropped, i.DroppedSteps, int64(i.Viewers)) < 0 {
		return "a count is negative"
	}
	if s := i.LastStep; s != nil && (s.Device < 0 || s.Device >= MaxDevices || min(s.Duration, s.Allocated, s.PeakAllocated, s.PeakReserved) < 0) {
		return "its last step is of no device, or negative"
	}
	if i.Rank != nil && !i.Rank.Valid() {
		return "its rank is none of its job"
	}
	return ""
}

// known returns an optional number of a program, 0 when it is missing.
func known(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
