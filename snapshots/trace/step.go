package trace

import "slices"

// Step is a program's report of a training step, made when the step ended. Steps
// share their slices, which must not be changed. The JSON names, here and below,
// are those of the probe's protocol.
type Step struct {
	Number   int64   `json:"step"`        // counted from 1
	Time     int64   `json:"time_us"`     // of its end, microseconds since the epoch
	Duration int64   `json:"duration_ns"` // nanoseconds
	Tokens   int64   `json:"tokens"`      // that it trained on
	Loss     float64 `json:"loss"`        // may be no number; absent with NoLoss
	NoLoss   bool    `json:"-"`           // the program did not say one
	Skipped  bool    `json:"skipped"`     // gradients overflowed, and nothing was changed
	Device   int     `json:"device"`      // whose memory the following is about
	// Bytes of blocks handed out and of segments, right after the step, and the
	// highest values at any moment within it.
	Allocated     int64 `json:"allocated_bytes"`
	Reserved      int64 `json:"reserved_bytes"`
	PeakAllocated int64 `json:"peak_allocated_bytes"`
	PeakReserved  int64 `json:"peak_reserved_bytes"`
	// The highest values at any moment since the program began, or since it last
	// reset its allocator's own record of them; 0 if the program does not say.
	HighestAllocated int64 `json:"highest_allocated_bytes,omitempty"`
	HighestReserved  int64 `json:"highest_reserved_bytes,omitempty"`
	// Categories has the requested bytes of each category right after the step.
	// AtPeak has them at the moment when most was allocated.
	Categories []Amount `json:"categories"`
	AtPeak     []Amount `json:"categories_at_peak"`
	// Host has the requested bytes of host memory for each category, at the
	// moment when their sum was largest. The program keeps this data in host
	// memory instead of on the device.
	Host []Amount `json:"host_bytes,omitempty"`
	// The bytes that the step copied between the device and the host, beside its
	// batch; 0 if the program does not say.
	ToHost   int64   `json:"to_host_bytes,omitempty"`
	FromHost int64   `json:"from_host_bytes,omitempty"`
	Settings []Value `json:"settings"`         // that the step used, ordered by key
	Layers   []Layer `json:"layers,omitempty"` // in the order they ran; nil if they were not measured
	// ProbeNS is what reporting cost the program in this step, in nanoseconds.
	ProbeNS int64 `json:"probe_ns"`
}

// Measured reports whether the program measured its memory in this step. A
// program that measures only some steps reports the others with what its allocator
// counts anyway, without what the memory is for and the step's own peak.
func (s *Step) Measured() bool { return s.PeakAllocated > 0 }

// LastStep returns the last step of a device, nil if there is none.
func (t *Trace) LastStep(device int) *Step {
	return t.LastStepThat(device, func(*Step) bool { return true })
}

// LastMeasured returns the last step of a device in which the program measured
// its memory, nil if there is none.
func (t *Trace) LastMeasured(device int) *Step { return t.LastStepThat(device, (*Step).Measured) }

// LastStepThat returns the last step of a device of which something holds, nil if
// there is none.
func (t *Trace) LastStepThat(device int, holds func(*Step) bool) *Step {
	for i := range slices.Backward(t.Steps) {
		if s := &t.Steps[i]; s.Device == device && holds(s) {
			return s
		}
	}
	return nil
}

// Amount is a number of bytes with a name.
type Amount struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Value is a setting of a program, as text.
type Value struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Layer has the memory and the times of one layer of a model in one step. Bytes
// are requested bytes.
type Layer struct {
	Name           string `json:"name"`                      // path from the model; "" is the model itself
	Class          string `json:"class"`                     // such as "Linear"
	OutputShape    string `json:"output_shape"`              // such as "[8, 128, 512]"
	DType          string `json:"dtype"`                     // such as "bf16"
	ParameterBytes int64  `json:"parameter_bytes,omitempty"` // its own, not its children's
	OutputBytes    int64  `json:"output_bytes"`
	// SavedBytes are the bytes that the layer's own operations kept for the
	// backward pass. Those of its children are not counted, so the sum over all
	// layers is the activations.
	SavedBytes         int64 `json:"saved_bytes,omitempty"`
	TransientPeakBytes int64 `json:"transient_peak_bytes,omitempty"` // by how much memory at the layer's peak exceeded memory when the layer ended
	// Times are of all calls, children included.
	ForwardNS    int64 `json:"forward_ns"`
	BackwardNS   int64 `json:"backward_ns"`
	RecomputeNS  int64 `json:"recompute_ns,omitempty"`
	Calls        int   `json:"calls"`
	Checkpointed bool  `json:"checkpointed,omitempty"` // it ran inside a checkpoint
	OnHost       bool  `json:"on_host,omitempty"`      // the device's host computed it
}
