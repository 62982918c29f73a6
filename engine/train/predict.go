package train

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/trace"
)

// predictionTime is how long the rehearsals of one answer may take.
const predictionTime = 10 * time.Second

// ErrNoRehearsal says that a trainer does not know how its model is made.
var ErrNoRehearsal = errors.New("this run cannot say what a change will do")

// Predict says how other values of settings, all changed together, would change
// the memory of a step. It rehearses on a device that computes nothing: steps with
// the present settings, then steps with the changed ones, and it takes the
// difference. For an [Action] alone Predict says how much memory goes back to the
// driver, nil if that is not known; together with changes the action is ignored.
// Predict fails if a value is invalid, or if Config.Build is not given. Safe for
// concurrent use; it does not wait for a step, and no step waits for it.
func (t *Trainer) Predict(ctx context.Context, changes []trace.Value) (*trace.Prediction, error) {
	changes, acts, err := withoutAction(changes)
	if err != nil {
		return nil, err
	}
	if acts && len(changes) == 0 {
		return t.givesBack(), nil
	}
	now, then, err := t.changed(changes)
	if err != nil {
		return nil, err
	}
	if t.config.Build == nil {
		return nil, ErrNoRehearsal
	}
	ctx, cancel := context.WithTimeout(ctx, predictionTime)
	defer cancel()
	plan := t.plan()
	p, err := t.forecasts.of(fmt.Sprint(plan.Spec, now.list(), then.list()), func() (trace.Prediction, error) {
		list, err := plan.rehearse(ctx, now, then)
		if err != nil {
			return trace.Prediction{}, err
		}
		a, b := &list[0].Memory, &list[1].Memory
		return trace.Prediction{
			PeakAllocated: b.PeakAllocated - a.PeakAllocated,
			Activation:    b.AtPeak[trace.Activation] - a.AtPeak[trace.Activation],
		}, nil
	})
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// changed returns the settings of the next step, before and after the changes.
func (t *Trainer) changed(changes []trace.Value) (now, then Settings, err error) {
	now = t.Settings()
	then = now
	for _, c := range changes {
		if then, err = t.with(&then, c.Key, c.Value); err != nil {
			return now, then, err
		}
	}
	return now, then, nil
}

// plan returns the run as a plan that has not begun. Its memory is unlimited, so
// that a change that needs more than there is says how much.
func (t *Trainer) plan() Plan {
	d := t.config.Device
	return Plan{
		Build: t.config.Build, Loss: t.config.Loss, Spec: *t.spec.Load(), Batch: t.config.Batch,
		Allocator: alloc.Options{Name: d.Name(), Config: d.Memory().Config()},
		Group:     t.config.Group,
	}
}

// known caches the results of rehearsals by what they depend on. All viewers of a
// run ask for the same few changes, and a rehearsal takes processor time from the
// run, so one is made at a time.
type known[V any] struct {
	mu   sync.Mutex
	list map[string]V
}

// mostKnown is how many are remembered before all are forgotten.
const mostKnown = 256

// of returns the result for a key, which rehearse makes if it is not known.
func (k *known[V]) of(key string, rehearse func() (V, error)) (V, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, ok := k.list[key]; ok {
		return v, nil
	}
	v, err := rehearse()
	if err != nil {
		return v, err
	}
	if k.list == nil || len(k.list) >= mostKnown {
		k.list = make(map[string]V)
	}
	k.list[key] = v
	return v, nil
}
