package train

import (
	"time"

	"github.com/memtop/memtop/engine/tensor"
)

// Queued is a step whose work is queued on the device and may not be done. It
// belongs to the trainer's goroutine. Wait for it before saving or closing the
// trainer.
type Queued struct {
	// Event is the part of the result that is known already: everything except
	// the loss and whether the step was skipped. Its duration is the host's.
	Event Event
	// Settings are those of the step, as they were set.
	Settings Settings
	trainer  *Trainer
	start    time.Time
	losses   []partLoss
	applied  func() bool
}

// partLoss is the loss of a part of a batch, and its share of the batch's loss.
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
	return true
}

// Wait waits until the device has done the step and returns its event. If the
// step was queued while the previous step ran, its duration is from the end of
// the previous step to its own end.
func (q *Queued) Wait() (Event, error) {
	e, t := &q.Event, q.trainer
	err := tensor.Try(func() {
		for _, p := range q.losses {
			e.Loss += p.loss.Wait() * p.share
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
