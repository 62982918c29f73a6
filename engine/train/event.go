package train

import (
	"time"

	"github.com/memtop/memtop/engine/collective"
)

// Event is the result of one step.
type Event struct {
	Step     int64   // counted from 1
	Loss     float64 // mean over the batch, before the step
	Tokens   int64   // targets of the batch
	Duration time.Duration
	// Skipped says that gradients overflowed, so the step changed nothing.
	Skipped  bool
	Settings Settings // of this step, with MicroBatch and Accumulate both filled in
	Action   Action   // done when it had ended
	Memory   Memory   // right after the step
	Ranks    []Rank   // by number; nil for one process
	// Bytes of tensors that the step copied between the device and its host.
	ToHost, FromHost int64
	// Communication is what this process's operations with the others took in the step,
	// as far as the group knows.
	Communication collective.Times
}

// Values returns every setting of the step as text, under its name, and the action if
// there was one.
func (e *Event) Values() map[string]string {
	m := e.Settings.Values()
	if e.Action != NoAction {
		m[actionKey] = e.Action.String()
	}
	return m
}
