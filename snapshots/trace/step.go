package trace

// Step is what a program reported of a training step when the step ended. Its
// slices are shared between steps and must not be changed. The names for JSON,
// here and below, are those of the probe's protocol.
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
	// most at any moment within it.
	Allocated     int64 `json:"allocated_bytes"`
	Reserved      int64 `json:"reserved_bytes"`
	PeakAllocated int64 `json:"peak_allocated_bytes"`
	PeakReserved  int64 `json:"peak_reserved_bytes"`
	// Categories is what was requested for each purpose right after the step,
	// AtPeak the same when most was allocated.
	Categories []Amount `json:"categories"`
	AtPeak     []Amount `json:"categories_at_peak"`
	// Host is what was requested of the host's memory for each purpose, when that
	// was most: what the program keeps there instead of on the device.
	Host     []Amount `json:"host_bytes,omitempty"`
	Settings []Value  `json:"settings"`         // that the step used, ordered by key
	Layers   []Layer  `json:"layers,omitempty"` // in the order they ran; nil where they were not measured
	// ProbeNS is what reporting cost the program in this step, in nanoseconds.
	ProbeNS int64 `json:"probe_ns"`
}

// Measured reports whether the program looked at its memory in this step. One that
// looks at some steps only says of the others that they were.
func (s *Step) Measured() bool { return s.PeakAllocated > 0 }

// LastStep returns the last step of a device, nil when there is none.
func (t *Trace) LastStep(device int) *Step {
	for i := len(t.Steps) - 1; i >= 0; i-- {
		if s := &t.Steps[i]; s.Device == device {
			return s
		}
	}
	return nil
}

// LastMeasured returns the last step of a device whose memory was measured, nil when
// there is none.
func (t *Trace) LastMeasured(device int) *Step {
	for i := len(t.Steps) - 1; i >= 0; i-- {
		if s := &t.Steps[i]; s.Device == device && s.Measured() {
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

// Layer is what one layer of a model did in one step. Bytes are requested
// bytes.
type Layer struct {
	Name           string `json:"name"`                      // path from the model; "" is the model itself
	Class          string `json:"class"`                     // such as "Linear"
	OutputShape    string `json:"output_shape"`              // such as "[8, 128, 512]"
	DType          string `json:"dtype"`                     // such as "bf16"
	ParameterBytes int64  `json:"parameter_bytes,omitempty"` // its own, not its children's
	OutputBytes    int64  `json:"output_bytes"`
	// SavedBytes were kept for the backward pass by the layer's own operations,
	// its children's not counted: all layers' add up to the activations.
	SavedBytes         int64 `json:"saved_bytes,omitempty"`
	TransientPeakBytes int64 `json:"transient_peak_bytes,omitempty"` // how far memory rose above what was left when it was done
	// Times are of all calls, children included.
	ForwardNS    int64 `json:"forward_ns"`
	BackwardNS   int64 `json:"backward_ns"`
	RecomputeNS  int64 `json:"recompute_ns,omitempty"`
	Calls        int   `json:"calls"`
	Checkpointed bool  `json:"checkpointed,omitempty"` // it ran inside a checkpoint
}
