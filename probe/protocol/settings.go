package protocol

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// Settings is the answer of /v1/settings.
type Settings struct {
	ReadOnly bool           `json:"read_only"`
	Holder   string         `json:"holder,omitempty"` // the viewer that is changing settings
	Options  []trace.Option `json:"options"`
	Changes  []trace.Change `json:"changes"` // after a POST the changes that it asked for, else all
}

// Prediction is the answer of /v1/prediction.
type Prediction struct {
	Predicted *trace.Prediction `json:"predicted"` // null when the program cannot say
	// Headroom is present when the question has a capacity; it is null when the
	// program cannot say.
	Headroom *trace.Headroom `json:"headroom,omitempty"`
}

// HeldError says that another viewer is changing settings.
type HeldError struct{ Holder string }

func (e *HeldError) Error() string {
	return fmt.Sprintf("viewer %s is changing settings: close it or wait until it has been idle for a minute", e.Holder)
}
