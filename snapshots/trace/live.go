package trace

import (
	"fmt"
	"slices"
)

// Live is what memtop knows of a running program beside its memory. Like a Trace
// it never changes; from one Live to the next, its lists only grow.
type Live struct {
	PID         int
	Host        string // the program's machine, as the viewer calls it; "" for the viewer's own
	Command     string
	User        string
	Started     int64    // when the program began, microseconds since the epoch
	Rank        *Rank    // its place among the programs of its job, nil if it runs alone
	RehearsedOn string   // the GPU that is imitated for it and computes nothing; "" for none
	Connected   bool     // more is coming; otherwise Note says why not
	Note        string   // if connected, what a reader should know first, "" for nothing
	Options     []Option // what may be changed
	Changes     []Change // by ID, ascending; an entry is replaced as it moves on
	Gauges      []Gauge  // by time, ascending
	Gaps        []Gap    // by event, ascending
	Learnt      []Learnt // by earlier viewers
	// Looking says that the program measures its memory only while it is watched,
	// and has measured no whole step yet: what memory is for, the layers and the
	// peaks are not known.
	Looking bool
	// Dropped counts the events that the program could not report, DroppedSteps
	// the steps.
	Dropped, DroppedSteps int64
	// ProbeNS is what reporting has cost the program so far, in nanoseconds.
	ProbeNS int64
	Ended   *Ending // from its black box; nil for all other sources
}

// Ending is what a program's black box says about the program's end.
type Ending struct {
	Runs    bool   // it has not ended: the box is a running program's
	Goodbye string // why the program closed its box; "" if it was killed or crashed
	Alive   int64  // when it last noted that it runs, microseconds since the epoch
	Devices []LastEvent
}

// LastEvent is the last event of a device, with the program's own sums of its
// memory right after it; [Unknown] if it did not say.
type LastEvent struct {
	Device    int
	Events    int64 // how many there were since the program was watched
	Time      int64 // of the last event or step, microseconds since the epoch; 0 for none
	Requested int64 // bytes in use, as the program asked for them
	Reserved  int64
	// Looked is when the program last looked at what held its memory, if it went on
	// for some time after that: microseconds since the epoch. The final state is of
	// that time. It is [Unknown] if the program never looked: the final state is then
	// empty and says nothing. It is 0 if the final state is of the last event.
	Looked int64
	// Lost is how many events the trace lacks between its final state and the
	// program's last event, because the program wrote faster than its box could
	// keep.
	Lost int64
}

// Unknown stands for a number of a [LastEvent] that is not known.
const Unknown = -1

// Option is a setting that may be changed while the program runs.
type Option struct {
	Key     string   `json:"key"`
	Value   string   `json:"value"` // of the next step
	About   string   `json:"about"` // one line
	Choices []string `json:"choices"`
	// Free says that other values than Choices may do.
	Free bool `json:"free,omitempty"`
	// Neutral says that a step needs the same memory whatever the value is.
	Neutral bool `json:"neutral,omitempty"`
}

// IsAction reports whether the option is an action that the program does once,
// and not a value that holds. Before and after an action, the option's value is
// none of its choices.
func (o *Option) IsAction(before string) bool {
	return !o.Free && len(o.Choices) > 0 && !slices.Contains(o.Choices, before)
}

// ChangeState is the state of a change.
type ChangeState uint8

// A change waits for the next step, holds since one, or was refused.
const (
	Pending ChangeState = iota
	Applied
	Refused
)

var changeNames = [...]string{"pending", "applied", "refused"}

// String returns the state's name.
func (s ChangeState) String() string {
	if int(s) < len(changeNames) {
		return changeNames[s]
	}
	return "unknown"
}

// MarshalText returns the state's name.
func (s ChangeState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes a state's name.
func (s *ChangeState) UnmarshalText(name []byte) error {
	for state, known := range changeNames {
		if known == string(name) {
			*s = ChangeState(state)
			return nil
		}
	}
	return fmt.Errorf("%.20q is not a state of a change", name)
}

// Change is a request for another value of a setting, with its result.
type Change struct {
	ID     int64       `json:"id"`      // counted from 1
	Time   int64       `json:"time_us"` // when it was asked for, microseconds since the epoch
	Key    string      `json:"key"`
	From   string      `json:"from"`
	To     string      `json:"to"`
	State  ChangeState `json:"state"`
	Step   int64       `json:"step,omitempty"`   // the first step that used it, when applied
	Reason string      `json:"reason,omitempty"` // why it was refused
	// Predicted is the effect that was expected when the change was asked for;
	// nil when there was no prediction.
	Predicted *Prediction `json:"predicted,omitempty"`
}

// Prediction is the expected effect of a change, of one setting or several, on
// the memory of a step.
type Prediction struct {
	PeakAllocated int64 `json:"peak_allocated_bytes"`
	Activation    int64 `json:"activation_bytes"` // at the peak
	// Reserved is the effect of an action on reserved memory: the bytes reserved
	// at the end of its step minus those at the step's highest moment. It is nil
	// if that is not known, and if the change is not an action.
	Reserved *int64 `json:"reserved_bytes,omitempty"`
}

// Off says how far a prediction was off, as a part of what was measured: 0.1 if the
// prediction was too high by a tenth of it. Both are whole levels, such as the peak
// of a step, and no changes of them.
func Off(predicted, measured float64) float64 { return predicted/measured - 1 }

// Headroom is how many samples at a time would fit into a device's memory. Sizes are
// bytes.
type Headroom struct {
	Capacity int64 `json:"capacity_bytes"` // of the memory that was asked about
	Samples  int   `json:"samples"`        // that run at a time now
	Parts    int   `json:"parts"`          // that a batch runs in
	Most     int   `json:"most_samples"`   // that fit, 0 when not even one does
	// A step's peak is the fixed part plus a part for each sample.
	Fixed     int64 `json:"fixed_bytes"`
	PerSample int64 `json:"sample_bytes"`
	// The peaks of a run that begins with Samples samples at a time.
	PeakAllocated int64 `json:"peak_allocated_bytes"`
	PeakReserved  int64 `json:"peak_reserved_bytes"`
}

// Gauge is one look at a device from outside of the program. An unknown number is
// -1.
type Gauge struct {
	Device int   `json:"device"`
	Time   int64 `json:"time_us"` // microseconds since the epoch
	// Bytes of the device: its whole memory, and the memory used by all programs,
	// by this program, and by other programs.
	Total       int64 `json:"device_total_bytes"`
	Used        int64 `json:"device_used_bytes"`
	Process     int64 `json:"process_bytes"`
	Others      int64 `json:"other_bytes"`
	Utilisation int64 `json:"utilisation_percent"` // of time that kernels ran
	Temperature int64 `json:"temperature_celsius"`
	Power       int64 `json:"power_milliwatts"`
	// Limit is what the control group of the program may have at most, LimitUsed what
	// it has, its files' pages left out; 0 without a limit below Total.
	Limit     int64 `json:"limit_bytes,omitempty"`
	LimitUsed int64 `json:"limit_used_bytes,omitempty"`
	// Kills is how many processes of the group the kernel has killed for lack of memory.
	Kills int64 `json:"oom_kills,omitempty"`
	// Unified says that the device has no memory of its own: Total and Used are the
	// machine's.
	Unified bool `json:"unified,omitempty"`
	// Users are the other processes on the device, as far as the driver names them.
	Users []User `json:"users,omitempty"`
	// Host is what the program has of the machine's memory, nil if it does not say.
	Host *Host `json:"host,omitempty"`
	// Card is what the program has of the device's memory, nil if it does not say.
	Card *Card `json:"ledger,omitempty"`
}

// HostDevice is the device of a gauge of the machine's memory, in the black box of a
// program that computes on other devices.
const HostDevice = -1

// Gap is a place in the trace where events are missing. The events [From, To)
// were made up to lead from the state before the gap to the state after it. They
// say what changed, but not how or when.
type Gap struct {
	Device   int
	From, To int
	Missed   int64 // how many events are missing, -1 when unknown
	Reason   string
}
