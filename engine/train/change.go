package train

import (
	"strings"

	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/snapshots/trace"
)

// Settings returns the settings of the next step. Safe for concurrent use.
func (t *Trainer) Settings() Settings { return *t.settings.Load() }

// Set changes the settings of the next step and the ones after it. It fails, and
// changes nothing, if the settings do not fit the batch or the model, or if they
// ask for a plan that does not exist. Safe for concurrent use.
func (t *Trainer) Set(s Settings) error {
	s, err := t.settle(s)
	if err == nil {
		t.settings.Store(&s)
	}
	return err
}

// Change changes one setting for the next step, or requests an [Action]. Changes
// that other goroutines make to other settings at the same time stay. The error
// names the possible values. Safe for concurrent use.
func (t *Trainer) Change(key, value string) error {
	if key == actionKey {
		a, err := ParseAction(value)
		if err == nil {
			t.Do(a)
		}
		return err
	}
	for {
		old := t.settings.Load()
		s, err := t.with(old, key, value)
		if err != nil {
			return err
		}
		if t.settings.CompareAndSwap(old, &s) {
			return nil
		}
	}
}

// with returns settings with one of them changed, if they fit the run.
func (t *Trainer) with(s *Settings, key, value string) (Settings, error) {
	changed, err := s.With(key, value)
	if err == nil {
		changed, err = t.settle(changed)
	}
	return changed, err
}

func (t *Trainer) filled(s Settings) Settings { return s.filled(t.config.Batch) }

// has reports whether a setting has an effect in this run.
func (t *Trainer) has(key string) bool {
	switch key {
	case mainCopiesKey:
		return t.low
	case vocabKey:
		return nn.HasVocab(t.config.Model)
	case shardKey:
		return t.config.Group != nil
	case residualKey:
		return nn.HasResidual(t.config.Model)
	}
	return true
}

// Options returns the settings that have an effect in this run, with the values
// of the next step. Safe for concurrent use.
func (t *Trainer) Options() []trace.Option {
	s := t.filled(t.Settings())
	list := make([]trace.Option, 0, len(settingKeys)+1)
	for i, k := range settingKeys {
		if !t.has(k.key) {
			continue
		}
		list = append(list, trace.Option{
			Key: k.key, Value: k.get(&s), About: strings.ReplaceAll(k.about, "`", ""), Choices: k.choices, Free: k.free, Neutral: i >= len(memoryKeys),
		})
	}
	return append(list, actionOption())
}
