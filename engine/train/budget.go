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
// Settings with a budget exist twice: the wanted settings, and the settings that
// a step uses. [Plan.Within] chooses the latter so that the device reserves no
// more than the budget. The goroutine that changes settings makes the choice. The
// trainer chooses again when its batches grow, and when memory ran out in a step,
// which it then takes again. When the budget goes,
// the wanted settings hold again. The batch of a step and its loss do not change.
//
// The allocator's limit enforces the budget; rehearsals make sure that no step
// reaches it.

// fitted describes how the wanted settings were fitted to the budget. It never
// changes.
type fitted struct {
	wanted Settings // before they were changed for the budget
	key    string   // what the changes depend on
	room   int64    // for rehearsals: less than the budget once memory ran out
	// stood maps each value shown in the place of a wanted one to the wanted
	// value. A user who goes back to the shown value wants the value that it
	// stood for.
	stood map[trace.Value]string
}

// asked returns the wanted settings.
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

// Budgeted returns the plan with its settings changed to fit their budget, if
// they have one. The error is a [TooSmallError] if no change is enough.
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

// choose returns the wanted settings with changes that keep a run within room
// bytes.
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

// choiceKey returns everything that the choice for wanted settings depends on.
func (p Plan) choiceKey(wanted Settings, room int64) string {
	return fmt.Sprint(p.Spec, wanted.memory(), room)
}

// budget holds a trainer's state of its memory budget.
type budget struct {
	changes known[[]trace.Value]
	mu      sync.Mutex
	bytes   int64     // the budget that others take memory of
	lacks   int64     // and how much
	told    *Settings // those of the last step, nil without a budget: the trainer's own
}

// room returns the bytes of a budget that are left.
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

// choiceOf returns settings with the changes that their budget needs. Safe for
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
	list, err := b.changes.of(key, func() ([]trace.Value, error) {
		ctx, cancel := context.WithTimeout(context.Background(), choosingTime)
		defer cancel()
		fit, err := p.Within(ctx, room)
		return fit.Changes, err
	})
	if err != nil {
		return s, err
	}
	return p.choose(wanted, list, room)
}

// changes returns the settings that differ. Of MicroBatch and Accumulate it
// returns the one that is used.
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
