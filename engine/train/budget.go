package train

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
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
