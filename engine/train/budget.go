package train

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"memtop/snapshots/quantity"
	"memtop/snapshots/trace"
)

// # A budget
//
// Settings with a budget are two: those that are wanted, and those that a step uses,
// which [Plan.Within] has chosen so that the device reserves no more. They are chosen
// when settings change, by whoever changes them, and by the trainer when its batches
// grow, when it has timed its layers, and when memory ran out in a step, which is then
// taken again. Without the budget what was wanted holds again. The batch of a step and
// its loss stay what they are.
//
// The allocator's limit is what holds the budget; rehearsals see to it that no step
// runs into it.

// fitted is what came of the settings that were wanted. It never changes.
type fitted struct {
	wanted Settings // before they were changed for the budget
	key    string   // what the changes depend on
	room   int64    // for rehearsals: less than the budget once memory ran out
	// stood are the values that were shown in the place of wanted ones: whoever goes
	// back to one of them wants what it stood for.
	stood map[trace.Value]string
}

// asked returns the settings that are wanted.
func (s Settings) asked() Settings {
	if s.fitted != nil {
		stood := s.fitted.stood
		s = s.fitted.wanted
		s.stood = stood
	}
	return s
}

// free returns the settings as they are, without their budget.
func (s Settings) free() Settings {
	s.Budget, s.fitted, s.stood = 0, nil, nil
	return s
}

// Budgeted returns the plan with its settings changed as their budget takes it, if
// they have one. The error is a [TooSmallError] when nothing is enough.
func (p Plan) Budgeted(ctx context.Context) (Plan, error) {
	wanted := p.Settings
	if wanted.Budget == 0 || wanted.fitted != nil {
		return p, nil
	}
	fit, err := p.Within(ctx, wanted.Budget)
	if err != nil {
		return p, err
	}
	p.Settings, err = p.choose(wanted, fit.Changes, wanted.Budget)
	return p, err
}

// choose returns wanted settings with changes that keep them within so many bytes.
func (p Plan) choose(wanted Settings, list []trace.Value, room int64) (Settings, error) {
	stood := make(map[trace.Value]string)
	maps.Copy(stood, wanted.stood)
	wanted.stood = nil // what is chosen stands for itself
	chosen, err := wanted.changed(list)
	if err != nil {
		return wanted, err
	}
	was, is := wanted.filled(p.Batch), chosen.filled(p.Batch)
	for _, k := range settingKeys {
		if shown := k.get(&is); shown != k.get(&was) {
			stood[trace.Value{Key: k.key, Value: shown}] = k.get(&was)
		}
	}
	chosen.fitted = &fitted{wanted: wanted, key: p.choiceKey(wanted, room), room: room, stood: stood}
	return chosen, nil
}

// choiceKey is all that the choice for wanted settings depends on.
func (p Plan) choiceKey(wanted Settings, room int64) string {
	return fmt.Sprint(p.Spec, wanted.memory(), room, p.times != nil)
}

// Adjustment is a change of settings for the sake of a budget.
type Adjustment struct {
	Step    int64 // the first that it holds for
	Changes []trace.Value
	Why     string // in some words
}

// budget is what a trainer knows of its own.
type budget struct {
	mu     sync.Mutex
	known  map[string][]trace.Value // changes, by what they depend on
	bytes  int64                    // the budget that others take memory of
	lacks  int64                    // and how much
	told   *Settings                // those of the last step, nil without a budget: the trainer's own
	before bool                     // those were chosen before layers were timed
}

// room is what there is of a budget.
func (b *budget) room(bytes int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bytes == b.bytes {
		return bytes - b.lacks
	}
	return bytes
}

// choosingTime is how long a choice may take.
const choosingTime = time.Minute

// choiceOf returns settings with what must be changed for their budget. Safe for
// concurrent use.
func (t *Trainer) choiceOf(s Settings) (Settings, error) {
	if t.config.Build == nil {
		return s, fmt.Errorf("a memory budget: %w", ErrNoRehearsal)
	}
	b, p, wanted := &t.budget, t.plan(), s.asked()
	room := b.room(wanted.Budget)
	p.Settings = wanted
	key := p.choiceKey(wanted, room)
	if s.fitted != nil && s.fitted.key == key {
		return s, nil
	}
	b.mu.Lock()
	list, ok := b.known[key]
	b.mu.Unlock()
	if !ok {
		ctx, cancel := context.WithTimeout(context.Background(), choosingTime)
		defer cancel()
		fit, err := p.Within(ctx, room)
		if err != nil {
			return s, err
		}
		list = fit.Changes
		b.mu.Lock()
		if len(b.known) >= forecastsKept || b.known == nil {
			b.known = make(map[string][]trace.Value)
		}
		b.known[key] = list
		b.mu.Unlock()
	}
	return p.choose(wanted, list, room)
}

// queueWithin is Queue within a budget. It fails with a [TooSmallError] when batches
// have grown and cannot be made to fit, and with an [OutOfMemoryError] when nothing
// helps.
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
		if !errors.As(err, &oom) || oom.Lost {
			return q, err
		}
		if ranOut = err; !t.shrink(ctx, oom) {
			return nil, err
		}
	}
}

// keep makes the settings of the next step fit.
func (t *Trainer) keep(ctx context.Context) error {
	for {
		old := t.settings.Load()
		if old.Budget == 0 {
			t.budget.told = nil
			return nil
		}
		s, err := t.settle(*old)
		if err != nil {
			return err
		}
		if s.fitted == old.fitted || t.settings.CompareAndSwap(old, &s) {
			return t.tell(ctx, s)
		}
	}
}

// tell says what is changed for the budget that was not before the last step, and why.
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
	b.told, b.before = &s, t.times.known() == nil
	return nil
}

// whyAdjusted says why settings do not stay what they were.
func (t *Trainer) whyAdjusted(ctx context.Context, before, s Settings) (string, error) {
	p := t.plan()
	p.Settings, p.Allocator.Limit = before, s.fitted.room
	needs, fits, err := p.Fits(ctx)
	switch {
	case err != nil:
		return "", err
	case fits && t.budget.before && t.times.known() != nil:
		return "by the times of layers, which are measured now", nil
	case fits:
		return "there is room for it now", nil
	case s.fitted.room < s.Budget:
		return fmt.Sprintf("memory ran out, and others leave %s of %s", quantity.Bytes(s.fitted.room), quantity.Exact(s.Budget)), nil
	}
	return fmt.Sprintf("%s would be reserved of %s", quantity.Bytes(needs.Memory.PeakReserved), quantity.Exact(s.Budget)), nil
}

// shrink leaves rehearsals less room when memory has run out in a step that they
// say fits: something else has taken what is missing. It reports whether there is
// anything else to choose.
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

// hold has the device reserve no more than a budget, if there is one. What it keeps
// for nothing goes back first.
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

// changes returns the settings that differ. Of the two ways to say in what parts a
// batch runs it is the one that is used.
func changes(before, now *Settings) (list []trace.Value) {
	for _, k := range settingKeys {
		v := k.get(now)
		unused := v == "0" && (k.key == "accumulate" && now.MicroBatch > 0 || k.key == "micro_batch" && now.Accumulate > 0)
		if v != k.get(before) && !unused {
			list = append(list, trace.Value{Key: k.key, Value: v})
		}
	}
	return list
}
