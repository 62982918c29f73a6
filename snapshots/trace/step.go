package trace

// Step is what a program said of one of its training steps when it ended. Its
// slices are shared between steps and must not be changed.
type Step struct {
	Number   int64 // counted from 1
	Time     int64 // of its end, microseconds since the epoch
	Duration int64 // nanoseconds
	Tokens   int64 // that it trained on
	Loss     float64
	Skipped  bool // gradients overflowed, and nothing was changed
	Device   int  // whose memory the following is about
	// Bytes of blocks handed out and of segments, right after the step, and the
	// most at any moment within it.
	Allocated, Reserved         int64
	PeakAllocated, PeakReserved int64
	// Categories is what was requested for each purpose right after the step,
	// AtPeak the same when most was allocated.
	Categories, AtPeak []Amount
	Settings           []Value // that the step used, ordered by key
	Layers             []Layer // in the order they ran; nil where nobody measured
	// ProbeNS is what reporting cost the program in this step, in nanoseconds.
	ProbeNS int64
}

// Amount is a number of bytes with a name.
type Amount struct {
	Name  string
	Bytes int64
}

// Value is a setting of a program, as text.
type Value struct{ Key, Value string }

// Layer is what one layer of a model did in one step. Bytes are requested
// bytes.
type Layer struct {
	Name           string // path from the model; "" is the model itself
	Class          string // such as "Linear"
	OutputShape    string // such as "[8, 128, 512]"
	DType          string
	ParameterBytes int64 // its own, not its children's
	OutputBytes    int64
	// SavedBytes were kept for the backward pass by the layer's own operations,
	// its children's not counted: all layers' add up to the activations.
	SavedBytes         int64
	TransientPeakBytes int64 // how far memory rose above what was left when it was done
	// Times are of all calls, children included.
	ForwardNS, BackwardNS, RecomputeNS int64
	Calls                              int
	Checkpointed                       bool // it ran inside a checkpoint
}
