package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
	"github.com/memtop/memtop/snapshots/trace"
)

// Settings are what may change from one step to the next. A Settings is a
// value: change a copy and hand it to [Trainer.Set].
type Settings struct {
	Checkpoint nn.Policy      // which blocks are computed again instead of kept
	AMP        amp.Mode       // in what precision operations run
	Attention  nn.Attention   // which implementation
	LossMemory nn.LossMemory  // what the cross-entropy keeps
	Residual   nn.Residual    // of what type the sum is that goes through blocks
	PadVocab   bool           // autocast converts the weights of a head into a matrix of round size
	Offload    Offload        // what lives on the host
	Host       Layers         // which layers compute there
	Shard      Shard          // what the processes of a group divide
	Optimizer  optim.Settings // changing its kind begins with fresh state
	LR         float64
	Schedule   optim.Schedule
	Clip       float64 // most length of all gradients together; 0 does not look
	// MicroBatch is how many samples run at a time, and Accumulate is in how many
	// parts a batch runs: two ways to say the same. If one is 0, the other
	// decides. If both are 0, the whole batch runs at once.
	MicroBatch, Accumulate int
	// Budget is how many bytes the device may reserve, 0 for no limit. The
	// trainer changes the other settings as little as the budget needs, see "A
	// budget" in budget.go.
	Budget int64
	fitted *fitted                // nil without a budget, and before anything was chosen for it
	stood  map[trace.Value]string // of a choice that is to be made anew
}

// DefaultSettings are AdamW at a constant rate, all in float32.
func DefaultSettings() Settings {
	return Settings{Optimizer: optim.Defaults(optim.AdamW), LR: optim.DefaultLR(optim.AdamW), Clip: 1}
}

// Keys returns the names of all settings.
func Keys() []string {
	list := make([]string, len(settingKeys))
	for i, k := range settingKeys {
		list[i] = k.key
	}
	return list
}

// Help returns the text for a setting in a flag's help, with its choices and its
// default. The word for its value is in backquotes and capitals.
func Help(key string) string {
	i := slices.IndexFunc(settingKeys, func(k setting) bool { return k.key == key })
	k := settingKeys[i]
	text, rest, more := strings.Cut(k.about, "; ")
	if before, word, after := quoted(text); word == "" {
		text += ": `on or off`"
	} else {
		text = before + "`" + strings.ToUpper(word) + "`" + after
		if last := len(k.choices) - 1; last > 0 {
			text += ": " + strings.Join(k.choices[:last], ", ") + " or " + k.choices[last]
		}
	}
	if more {
		text += "; " + rest
	}
	d := DefaultSettings()
	if value := k.get(&d); value != "0" {
		text += " (default " + value + ")"
	}
	return text
}

// quoted cuts a text at a word in backquotes.
func quoted(text string) (before, word, after string) {
	before, rest, _ := strings.Cut(text, "`")
	word, after, _ = strings.Cut(rest, "`")
	return before, word, after
}

// Values returns every setting as text, under its name.
func (s Settings) Values() map[string]string {
	m := make(map[string]string, len(settingKeys))
	for _, k := range settingKeys {
		m[k.key] = k.get(&s)
	}
	return m
}

// With returns the settings with one of them changed. MicroBatch and Accumulate
// say the same thing, so setting one replaces the other. Settings that were
// changed for a budget go back to their wanted values. The error names the
// possible values.
func (s Settings) With(key, value string) (Settings, error) {
	s = s.asked()
	if v, ok := s.stood[trace.Value{Key: key, Value: value}]; ok {
		value = v
	}
	for _, k := range settingKeys {
		if k.key == key {
			err := k.set(&s, value)
			return s, err
		}
	}
	return s, fmt.Errorf("there is no setting %q: %v are known", key, Keys())
}

// withAll returns the settings with those of [Settings.Values].
func (s Settings) withAll(values map[string]string) (Settings, error) {
	for _, key := range Keys() {
		value, ok := values[key]
		if !ok || (key == "accumulate" || key == "micro_batch") && value == "0" { // would undo the other one
			continue
		}
		var err error
		if s, err = s.With(key, value); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Chosen returns the settings that differ from those of a run that chose only the
// optimizer.
func (s Settings) Chosen() []trace.Value {
	d := DefaultSettings()
	if d.Optimizer.Kind != s.Optimizer.Kind {
		d.Optimizer, d.LR = optim.Defaults(s.Optimizer.Kind), optim.DefaultLR(s.Optimizer.Kind)
	}
	return changes(&d, &s)
}

// changed returns the settings with some of them changed.
func (s Settings) changed(list []trace.Value) (Settings, error) {
	for _, c := range list {
		var err error
		if s, err = s.With(c.Key, c.Value); err != nil {
			return s, err
		}
	}
	return s, nil
}

// memory returns the settings that change the memory that a step needs.
func (s Settings) memory() []trace.Value { return listOf(memoryKeys, &s) }

// filled returns the settings with both MicroBatch and Accumulate filled in. The
// settings must fit the batch.
func (s Settings) filled(batch int) Settings {
	if parts, err := s.Parts(batch); err == nil {
		s.MicroBatch, s.Accumulate = parts[0], len(parts)
	}
	return s
}

// Parts returns the sizes of the parts that a batch runs in. It fails when
// MicroBatch and Accumulate do not agree about it.
func (s Settings) Parts(batch int) ([]int, error) {
	micro, parts := s.MicroBatch, s.Accumulate
	switch {
	case micro > batch:
		return nil, fmt.Errorf("%d samples at a time are more than a batch of %d", micro, batch)
	case parts > batch:
		return nil, fmt.Errorf("a batch of %d samples cannot be divided into %d parts", batch, parts)
	case micro == 0 && parts == 0:
		return []int{batch}, nil
	case micro == 0 && batch%parts != 0:
		return nil, fmt.Errorf("a batch of %d samples cannot be divided into %d equal parts", batch, parts)
	case micro == 0:
		micro = batch / parts
	case parts != 0 && parts != (batch+micro-1)/micro:
		return nil, fmt.Errorf("%d samples at a time make %d parts of a batch of %d, not %d",
			micro, (batch+micro-1)/micro, batch, parts)
	}
	var list []int
	for left := batch; left > 0; left -= micro {
		list = append(list, min(micro, left))
	}
	return list, nil
}
