package train

import (
	"time"

	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/tensor"
)

// Event is the result of one step.
type Event struct {
	Step     int64   // counted from 1
	Loss     float64 // mean over the batch, before the step
	LR       float64
	GradNorm float64 // before clipping; 0 without clipping
	Tokens   int64   // targets of the batch
	Duration time.Duration
	// Skipped says that gradients overflowed, so the step changed nothing.
	Skipped  bool
	Settings Settings // of this step, with MicroBatch and Accumulate both filled in
	Action   Action   // done when it had ended
	Memory   Memory   // right after the step
	Phases   []Phase
	Ranks    []Rank // by number; nil for one process
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

// Phase is a stretch of a step.
type Phase struct {
	Name     string
	Duration time.Duration
	// Usage is in requested bytes, as the tensors know them.
	tensor.Usage
}

// Measure runs f and returns what it did to the device's memory: how many bytes
// were allocated before it, after it, and at its highest moment. Stretches that
// are measured within a step are also listed in its event, the later ones of
// one name added to the first.
func (t *Trainer) Measure(name string, f func()) Phase {
	start := time.Now()
	p := Phase{Name: name, Usage: t.config.Device.Measure(f)}
	p.Duration = time.Since(start)
	t.note(p)
	return p
}

func (t *Trainer) note(p Phase) {
	for i := range t.phases {
		if q := &t.phases[i]; q.Name == p.Name {
			q.Duration += p.Duration
			q.After, q.Peak = p.After, max(q.Peak, p.Peak)
			return
		}
	}
	t.phases = append(t.phases, p)
}
