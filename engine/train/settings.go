package train

import (
	"fmt"
	"strconv"

	"memtop/engine/amp"
	"memtop/engine/nn"
	"memtop/engine/optim"
)

// Settings are what may change from one step to the next. A Settings is a
// value: change a copy and hand it to [Trainer.Set].
type Settings struct {
	Checkpoint nn.Policy      // which blocks are computed again instead of kept
	AMP        amp.Mode       // in what precision operations run
	Attention  nn.Attention   // which implementation
	Optimizer  optim.Settings // changing its kind begins with fresh state
	LR         float64
	Schedule   optim.Schedule
	Clip       float64 // most length of all gradients together; 0 does not look
	// MicroBatch is how many samples run at a time and Accumulate in how many
	// parts a batch runs: two ways to say the same. 0 leaves it to the other, and
	// both 0 is the whole batch at once.
	MicroBatch, Accumulate int
}

// DefaultSettings are AdamW at a constant rate, all in float32.
func DefaultSettings() Settings {
	return Settings{Optimizer: optim.Defaults(optim.AdamW), LR: optim.DefaultLR(optim.AdamW), Clip: 1}
}

// setting is one part of Settings as text.
type setting struct {
	key string
	get func(*Settings) string
	set func(*Settings, string) error
}

// settingKeys are all parts, in the order in which they are shown. The last
// word on what a key is called and what it takes.
var settingKeys = []setting{
	{"checkpoint", func(s *Settings) string { return s.Checkpoint.String() }, func(s *Settings, v string) (err error) {
		s.Checkpoint, err = nn.ParsePolicy(v)
		return err
	}},
	{"amp", func(s *Settings) string { return s.AMP.String() }, func(s *Settings, v string) (err error) {
		s.AMP, err = amp.ParseMode(v)
		return err
	}},
	{"optimizer", func(s *Settings) string { return s.Optimizer.Kind.String() }, setOptimizer},
	{"attention", func(s *Settings) string { return s.Attention.String() }, func(s *Settings, v string) (err error) {
		s.Attention, err = nn.ParseAttention(v)
		return err
	}},
	{"accumulate", func(s *Settings) string { return strconv.Itoa(s.Accumulate) }, func(s *Settings, v string) error {
		s.MicroBatch = 0
		return setCount(&s.Accumulate, "accumulate", v)
	}},
	{"micro_batch", func(s *Settings) string { return strconv.Itoa(s.MicroBatch) }, func(s *Settings, v string) error {
		s.Accumulate = 0
		return setCount(&s.MicroBatch, "micro_batch", v)
	}},
	{"lr", func(s *Settings) string { return number(s.LR) }, func(s *Settings, v string) error {
		return setNumber(&s.LR, "lr", v)
	}},
	{"schedule", func(s *Settings) string { return s.Schedule.String() }, func(s *Settings, v string) (err error) {
		s.Schedule, err = optim.ParseSchedule(v, s.Schedule.Total)
		return err
	}},
	{"clip", func(s *Settings) string { return number(s.Clip) }, func(s *Settings, v string) error {
		return setNumber(&s.Clip, "clip", v)
	}},
}

// setOptimizer changes the optimizer, and the learning rate with it when that is
// still the old optimizer's default.
func setOptimizer(s *Settings, v string) error {
	kind, err := optim.ParseKind(v)
	if err != nil || kind == s.Optimizer.Kind {
		return err
	}
	if s.LR == optim.DefaultLR(s.Optimizer.Kind) {
		s.LR = optim.DefaultLR(kind)
	}
	s.Optimizer = optim.Defaults(kind)
	return nil
}

func setCount(to *int, key, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return fmt.Errorf("%s %q: want a whole number, 0 or more", key, v)
	}
	*to = n
	return nil
}

func setNumber(to *float64, key, v string) error {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0 && f < 1e30) {
		return fmt.Errorf("%s %q: want a number, 0 or more", key, v)
	}
	*to = f
	return nil
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Keys returns the names of all settings.
func Keys() []string {
	list := make([]string, len(settingKeys))
	for i, k := range settingKeys {
		list[i] = k.key
	}
	return list
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
// are two ways to say one thing, so the one replaces the other. The error says
// what may be given.
func (s Settings) With(key, value string) (Settings, error) {
	for _, k := range settingKeys {
		if k.key == key {
			err := k.set(&s, value)
			return s, err
		}
	}
	return s, fmt.Errorf("there is no setting %q: %v are known", key, Keys())
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
