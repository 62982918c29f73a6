package train

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Settings of several processes
//
// A change is made in one process and holds in all from the same step on. At the
// end of a step all processes learn which one changed its settings. Before the
// next step that process sends its settings, and each process answers whether it
// can use them. When all have answered, all use them or none does. A process that
// stalls holds all others up, so no process is ever a step ahead: a question to
// all ends only when the last process has answered.

// noRank stands for "no process asked for a change".
const noRank = -1

// settingsBytes is the most bytes that all settings, or a refusal, take as text.
const settingsBytes = 8 << 10

// next returns the settings of the next step.
func (t *Trainer) next() *Settings {
	if p := t.parallel; p != nil && p.agreed != nil {
		return p.agreed
	}
	return t.settings.Load()
}

// replace makes the next step use s in the place of old, unless another goroutine
// has replaced old. Users see no difference between s and old.
func (t *Trainer) replace(old, s *Settings) bool {
	swapped := t.settings.CompareAndSwap(old, s)
	if p := t.parallel; p != nil && p.agreed == old {
		p.agreed = s
		return true
	}
	return swapped
}

// agree finds the settings of the step that begins, see "Settings of several
// processes".
func (t *Trainer) agree() error {
	p := t.parallel
	if p == nil {
		return nil
	}
	if p.agreed == nil || t.config.rehearses != nil { // all began with the same; a rehearsal has no others
		p.agreed = t.settings.Load()
	}
	if p.changed == noRank || t.config.rehearses != nil {
		t.adopt(p.agreed, p.agreed)
		return nil
	}
	return t.follow()
}

// follow takes over the settings of the rank that changed them, if all ranks can
// use them.
func (t *Trainer) follow() error {
	p := t.parallel
	from, before := p.changed, p.agreed
	if p.group.Rank() == from {
		before = t.settings.Load()
	}
	p.changed = noRank
	s := before.asked()
	text, err := collective.Text(p.group, s.encoded(), from, settingsBytes)
	if err != nil {
		return err
	}
	var unfit error
	if p.group.Rank() != from {
		s, unfit = s.decoded(text)
	}
	if unfit == nil {
		s, unfit = t.usable(s)
	}
	reason, err := p.refusal(unfit)
	switch {
	case err != nil:
		return err
	case reason == "":
		p.agreed = &s
	case before != p.agreed && t.config.Refused != nil:
		t.config.Refused(wantedChanges(p.agreed, before), reason)
	}
	t.adopt(before, p.agreed)
	return nil
}

// encoded returns all settings as a text.
func (s Settings) encoded() []byte {
	text, err := json.Marshal(s.Values())
	if err != nil {
		panic(fmt.Sprintf("train: settings as a text: %v", err)) // strings always are one
	}
	return text
}

// decoded returns the settings with those of a text.
func (s Settings) decoded(text []byte) (Settings, error) {
	var values map[string]string
	if err := json.Unmarshal(text, &values); err != nil {
		return s, err
	}
	s.MicroBatch, s.Accumulate, s.stood = 0, 0, nil
	return s.withAll(values)
}

// usable returns settings as a step of this process can use them. It fails if
// they do not fit the run, or if a rehearsal runs out of memory, because a step
// that fails in one process cannot be taken back in all.
func (t *Trainer) usable(s Settings) (Settings, error) {
	s, err := t.settle(s)
	if err != nil || t.config.Build == nil || fmt.Sprint(s.memory()) == fmt.Sprint(t.parallel.agreed.memory()) {
		return s, err
	}
	plan := t.plan()
	plan.Settings, plan.Capacity, plan.Allocator.Limit = s.free(), t.config.Capacity, s.Budget
	ctx, cancel := context.WithTimeout(context.Background(), predictionTime)
	defer cancel()
	needs, fits, err := plan.Fits(ctx)
	if err == nil && !fits {
		err = fmt.Errorf("it takes %s, and %s has %s", quantity.Bytes(needs.Memory.PeakReserved), t.config.Device.Name(), quantity.Bytes(t.config.Capacity))
	}
	return s, err
}

// refusal returns the reason of the lowest rank that cannot use the settings, the
// same in all processes. It returns "" if all ranks can use them.
func (p *parallel) refusal(unfit error) (reason string, err error) {
	size, rank := p.group.Size(), p.group.Rank()
	votes := p.rows[:size]
	votes[rank] = 0
	if unfit != nil {
		votes[rank] = 1
	}
	if err := p.group.Host().AllGather(words(votes), words(votes[rank:rank+1])).Wait(); err != nil {
		return "", err
	}
	for from, vote := range votes {
		if vote == 0 {
			continue
		}
		text, err := collective.Text(p.group, fmt.Appendf(nil, "rank %d: %v", rank, unfit), from, settingsBytes)
		return string(text), err
	}
	return "", nil
}

// adopt replaces the settings before by s, which all processes use. A change made
// here meanwhile stays wanted, and the other processes learn of it next.
func (t *Trainer) adopt(before, s *Settings) {
	for {
		old, now := t.settings.Load(), s
		own := wantedChanges(before, old)
		if old == s || before == s && len(own) > 0 {
			return
		}
		if len(own) > 0 {
			merged, err := s.changed(own)
			if err == nil {
				merged, err = t.settle(merged)
			}
			if err == nil {
				now = &merged
			} else if t.config.Refused != nil {
				t.config.Refused(own, err.Error())
			}
		}
		if t.settings.CompareAndSwap(old, now) {
			return
		}
	}
}

// wantedChanges returns the wanted settings that differ.
func wantedChanges(before, now *Settings) []trace.Value {
	a, b := before.asked(), now.asked()
	return changes(&a, &b)
}
