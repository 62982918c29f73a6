package train

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"memtop/snapshots/quantity"
	"memtop/snapshots/trace"
)

// Budget keeps what a trainer's device reserves within a number of bytes, while
// settings change, batches grow and others take memory: before a step that would
// not fit it changes the settings as [Plan.Within] says, and when memory runs out
// all the same, the step is taken again with settings that need less. The batch
// of a step and its loss stay what they are.
//
// The allocator's limit is what holds the budget; rehearsals see to it that no
// step runs into it. A Budget belongs to the trainer's goroutine.
type Budget struct {
	trainer *Trainer
	bytes   int64
	say     func(Adjustment)
	wanted  Settings // those that were changed to fit
	chosen  Settings // what came of it
	room    int64    // for rehearsals: less than bytes once memory ran out
	fitted  string   // what the settings were chosen for
	timed   bool     // and that was by measured times
}

// Adjustment is a change of settings for the sake of a budget.
type Adjustment struct {
	Step    int64 // the first that it holds for
	Changes []trace.Value
	Why     string // in some words
}

// NewBudget keeps a trainer within so many bytes: no more than its device has.
// wanted are the settings from which [Plan.Within] has chosen the trainer's. say is
// called with every change.
func NewBudget(t *Trainer, bytes int64, wanted Settings, say func(Adjustment)) *Budget {
	t.config.Device.Memory().SetLimit(bytes)
	b := &Budget{trainer: t, bytes: bytes, room: bytes, say: say, wanted: wanted, chosen: t.Settings()}
	b.fitted = b.key(&b.wanted)
	return b
}

// Queue is [Trainer.Queue] within the budget. It fails with a [TooSmallError] when
// settings that were changed since the last step cannot be made to fit, and with
// an [OutOfMemoryError] when nothing helps.
func (b *Budget) Queue(ctx context.Context) (*Queued, error) {
	var ranOut error // in this step; nil when memory did not
	for {
		err := b.fit(ctx)
		if small := new(TooSmallError); ranOut != nil && errors.As(err, &small) {
			return nil, ranOut
		}
		if err != nil {
			return nil, err
		}
		q, err := b.trainer.Queue(ctx)
		var oom *OutOfMemoryError
		if !errors.As(err, &oom) || oom.Lost {
			return q, err
		}
		if ranOut = err; !b.shrink(ctx, oom) {
			return nil, err
		}
	}
}

// key is all that the choice of settings depends on.
func (b *Budget) key(wanted *Settings) string {
	return fmt.Sprint(*b.trainer.spec.Load(), wanted.memory(), b.room, b.trainer.times.known() != nil)
}

// fit makes the settings of the next step fit.
func (b *Budget) fit(ctx context.Context) error {
	t := b.trainer
	t.timed()
	now := t.Settings()
	wanted, err := b.wanted.changed(changes(&b.chosen, &now)) // from outside
	if err != nil {
		return err
	}
	key := b.key(&wanted)
	if key == b.fitted {
		b.wanted, b.chosen = wanted, now
		return nil
	}
	fit, err := b.plan(wanted).Within(ctx, b.room)
	if err != nil {
		return err
	}
	chosen, err := wanted.changed(fit.Changes)
	if err != nil {
		return err
	}
	if len(changes(&now, &chosen)) > 0 {
		if err := b.adjust(ctx, now, chosen); err != nil {
			return err
		}
	}
	b.wanted, b.chosen, b.fitted, b.timed = wanted, t.Settings(), key, t.times.known() != nil
	return nil
}

// plan is the run with other settings.
func (b *Budget) plan(s Settings) Plan {
	p := b.trainer.plan()
	p.Settings, p.Allocator.Limit = s, b.room
	return p
}

// adjust changes the settings, and says why.
func (b *Budget) adjust(ctx context.Context, now, chosen Settings) error {
	needs, fits, err := b.plan(now).Fits(ctx)
	if err != nil {
		return err
	}
	why := Exceeds(needs, b.room)
	switch {
	case fits && !b.timed && b.trainer.times.known() != nil:
		why = "by the times of layers, which are measured now"
	case fits:
		why = "there is room for it now"
	case b.room < b.bytes:
		why = fmt.Sprintf("memory ran out, and others leave %s of %s", quantity.Bytes(b.room), quantity.Exact(b.bytes))
	}
	if err := b.trainer.Set(chosen); err != nil {
		return err
	}
	b.trainer.why = fmt.Sprintf("memory budget %s: %s", quantity.Exact(b.bytes), why)
	now, chosen = b.trainer.filled(now), b.trainer.filled(chosen)
	list := slices.DeleteFunc(changes(&now, &chosen), func(v trace.Value) bool { return v.Key == "accumulate" }) // micro_batch says it
	b.say(Adjustment{b.trainer.step + 1, list, why})
	return nil
}

// Exceeds says why a step that needs too much does not fit.
func Exceeds(needs Estimate, bytes int64) string {
	return fmt.Sprintf("%s would be reserved of %s", quantity.Bytes(needs.Memory.PeakReserved), quantity.Exact(bytes))
}

// shrink leaves rehearsals less room when memory has run out in a step that they
// say fits: something else has taken what is missing. It reports whether there is
// any left.
func (b *Budget) shrink(ctx context.Context, oom *OutOfMemoryError) bool {
	needs, fits, err := b.plan(b.trainer.Settings()).Fits(ctx)
	if err != nil {
		return false
	}
	b.fitted = ""
	if fits {
		b.room = min(b.room, needs.Memory.PeakReserved) - max(granularity, oom.Err.Segment)
	}
	return b.room > 0
}

// changes returns the settings that differ. Of the two ways to say in what parts a
// batch runs it is the one that is used.
func changes(before, now *Settings) (list []trace.Value) {
	for _, k := range settingKeys {
		v := k.get(now)
		if v != k.get(before) && !(v == "0" && (k.key == "accumulate" && now.MicroBatch > 0 || k.key == "micro_batch" && now.Accumulate > 0)) {
			list = append(list, trace.Value{Key: k.key, Value: v})
		}
	}
	return list
}
