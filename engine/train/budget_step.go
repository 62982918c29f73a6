package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Adjustment is a change of settings for the sake of a budget.
type Adjustment struct {
	Step    int64 // the first that it holds for
	Changes []trace.Value
	Why     string // in some words
}

// queueWithin is Queue within a budget. It fails with a [TooSmallError] if
// batches have grown and no choice fits, and with an [OutOfMemoryError] if memory
// ran out and no other choice is left.
func (t *Trainer) queueWithin(ctx context.Context) (*Queued, error) {
	var ranOut error // in this step; nil when memory did not
	for {
		err := t.keep(ctx)
		if small := new(TooSmallError); ranOut != nil && errors.As(err, &small) {
			return nil, ranOut
		}
		if err != nil {
			return nil, err
		}
		q, err := t.queue(ctx)
		var oom *OutOfMemoryError
		if !errors.As(err, &oom) || oom.Lost || t.parallel != nil { // the others of a group are in the middle of the step
			return q, err
		}
		if ranOut = err; !t.shrink(ctx, oom) {
			return nil, err
		}
	}
}

// keep makes the settings of the next step fit the budget.
func (t *Trainer) keep(ctx context.Context) error {
	for {
		old := t.next()
		if old.Budget == 0 {
			t.budget.told = nil
			return nil
		}
		s, err := t.settle(*old)
		if err != nil {
			return err
		}
		if s.fitted == old.fitted || t.replace(old, &s) {
			return t.tell(ctx, s)
		}
	}
}

// tell reports the changes for the budget since the last step, and their reason.
func (t *Trainer) tell(ctx context.Context, s Settings) (err error) {
	b, before := &t.budget, s.fitted.wanted.free()
	if b.told != nil {
		list := changes(&b.told.fitted.wanted, &s.fitted.wanted) // from outside
		if before, err = b.told.free().changed(list); err != nil {
			return err
		}
		before = before.free()
	}
	was, is := t.filled(before), t.filled(s.free())
	list := slices.DeleteFunc(changes(&was, &is), func(v trace.Value) bool { return v.Key == "accumulate" }) // micro_batch says it
	if len(list) > 0 {
		why, err := t.whyAdjusted(ctx, before, s)
		if err != nil {
			return err
		}
		t.why = fmt.Sprintf("memory budget %s: %s", quantity.Exact(s.Budget), why)
		if t.config.Adjusted != nil {
			t.config.Adjusted(Adjustment{t.step + 1, list, why})
		}
	}
	b.told = &s
	return nil
}

// whyAdjusted returns the reason for a change of settings.
func (t *Trainer) whyAdjusted(ctx context.Context, before, s Settings) (string, error) {
	p := t.plan()
	p.Settings, p.Allocator.Limit = before, s.fitted.room
	needs, fits, err := p.Fits(ctx)
	switch {
	case err != nil:
		return "", err
	case fits:
		return "there is room for it now", nil
	case s.fitted.room < s.Budget:
		return fmt.Sprintf("memory ran out, and others leave %s of %s", quantity.Bytes(s.fitted.room), quantity.Exact(s.Budget)), nil
	}
	return fmt.Sprintf("%s would be reserved of %s", quantity.Bytes(needs.Memory.PeakReserved), quantity.Exact(s.Budget)), nil
}

// shrink gives rehearsals less room when memory ran out in a step that fits
// according to them, because something else took the missing memory. It reports
// whether there is another choice.
func (t *Trainer) shrink(ctx context.Context, oom *OutOfMemoryError) bool {
	s := t.settings.Load()
	if s.fitted == nil {
		return false
	}
	p, room := t.plan(), s.fitted.room
	if p.choiceKey(s.fitted.wanted, room) != s.fitted.key {
		return true // the batch is another one
	}
	p.Settings, p.Allocator.Limit = s.free(), room
	needs, fits, err := p.Fits(ctx)
	if err != nil || !fits {
		return false
	}
	room = min(room, needs.Memory.PeakReserved) - max(granularity, oom.Err.Segment)
	t.budget.mu.Lock()
	defer t.budget.mu.Unlock()
	t.budget.bytes, t.budget.lacks = s.Budget, s.Budget-room
	return room > 0
}

// hold limits what the device reserves to a budget, if there is one. The device
// first gives back its unused memory.
func (t *Trainer) hold(bytes int64) {
	memory := t.config.Device.Memory()
	if bytes == 0 {
		memory.SetUnlimited()
		return
	}
	t.config.Device.Land()
	memory.EmptyCache()
	memory.SetLimit(bytes)
	memory.ResetPeak()
}
