package train

import (
	"time"

	"github.com/memtop/memtop/engine/tensor"
)

// Queued is a step whose work the device has been given and may not have done.
// It belongs to the trainer's goroutine, and is waited for before the trainer is
// saved or closed.
type Queued struct {
	// Event is what is known already: all but the loss, the length of the
	// gradients and whether the step was skipped. Its duration is the host's.
	Event Event
	// Settings are those of the step, as they were set.
	Settings Settings
	trainer  *Trainer
	start    time.Time
	losses   []partLoss
	norm     *tensor.Pending // nil without clipping
	applied  func() bool
}

// partLoss is the loss of a part of a batch, and its share of the batch's.
type partLoss struct {
	loss  *tensor.Pending
	share float64
}

// Ready reports, without waiting, whether Wait would return at once. On a device
// that computes while it is called, it always would.
func (q *Queued) Ready() bool {
	for _, p := range q.losses {
		if !p.loss.Ready() {
			return false
		}
	}
	return q.norm == nil || q.norm.Ready()
}

// Wait waits until the device has done the step and returns what came of it. A
// step that was queued while the one before it ran took from that one's end to
// its own.
func (q *Queued) Wait() (Event, error) {
	e, t := &q.Event, q.trainer
	err := tensor.Try(func() {
		for _, p := range q.losses {
			e.Loss += p.loss.Wait() * p.share
		}
		if q.norm != nil {
			e.GradNorm = q.norm.Wait()
		}
		e.Skipped = !q.applied()
	})
	if err != nil {
		return Event{}, t.failed(err, "step "+count(e.Step))
	}
	now := time.Now()
	since := q.start
	if t.waited.After(since) {
		since = t.waited
	}
	e.Duration, t.waited = now.Sub(since), now
	return *e, nil
}
