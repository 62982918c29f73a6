package train

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/choice"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
	"github.com/memtop/memtop/snapshots/quantity"
)

// setting is one part of Settings as text.
type setting struct {
	key     string
	about   string   // one line; the word for its value is in backquotes, a switch has none
	choices []string // in the order in which a key goes through them
	free    bool     // other values may do
	get     func(*Settings) string
	set     func(*Settings, string) error
}

// settingKeys are all settings, in the order in which they are shown. They define
// the key and the values of each.
var settingKeys = slices.Concat(memoryKeys, neutralKeys)

// memoryKeys are the settings that change the memory that a step needs.
var memoryKeys = []setting{
	parsed("checkpoint", "`policy` for what to recompute instead of keeping; also every=K, ratio=R, selective=OPERATION+…, or layers=NAME+…",
		[]string{"none", "block", "sqrt", "selective"}, true, func(s *Settings) *nn.Policy { return &s.Checkpoint }, nn.ParsePolicy),
	parsed("amp", "mixed precision `mode`; the type in which operations run",
		choice.Names(amp.Modes()), false, func(s *Settings) *amp.Mode { return &s.AMP }, amp.ParseMode),
	{
		"optimizer", "`name` of the optimizer; a change starts with fresh state",
		choice.Names(optim.Kinds()),
		false,
		func(s *Settings) string { return s.Optimizer.Kind.String() }, setOptimizer,
	},
	switchKey(mainCopiesKey, "for a model in half precision: float32 copies of the parameters in the optimizer; a change starts with fresh state",
		[]string{"on", "off"}, func(s *Settings) *bool { return &s.Optimizer.NoMainCopies }),
	parsed("attention", "`kind` of attention",
		choice.Names(nn.Attentions()), false, func(s *Settings) *nn.Attention { return &s.Attention }, nn.ParseAttention),
	parsed(lossKey, "`what` the cross-entropy keeps for the backward pass; lean keeps the logits, pytorch their log-softmax, with autocast twice",
		choice.Names(nn.LossMemories()), false, func(s *Settings) *nn.LossMemory { return &s.LossMemory }, nn.ParseLossMemory),
	parsed(residualKey, "`type` of the residual stream of gpt and llama; full is the type of the embeddings, bf16 takes half of float32",
		choice.Names(nn.Residuals()), false, func(s *Settings) *nn.Residual { return &s.Residual }, nn.ParseResidual),
	parsed("offload", "`parts` that live in the host's memory; join several by +; the last two also for some layers: activations=h.0+h.1",
		append([]string{"none"}, Offloads()...), true, func(s *Settings) *Offload { return &s.Offload }, ParseOffload),
	parsed(hostKey, "`layers` that compute on the host, with their parameters, gradients and optimizer state there; NAME+NAME",
		[]string{"none"}, true, func(s *Settings) *Layers { return &s.Host }, ParseHost),
	parsed(shardKey, "`stage` of sharding: what the processes of a run divide; each includes those before it",
		choice.Names(Shards()), false, func(s *Settings) *Shard { return &s.Shard }, ParseShard),
	switchKey(vocabKey, "with autocast, pad the head to a multiple of 64 classes and mask the added ones; faster on a GPU, where memtrain starts with it",
		[]string{"off", "on"}, func(s *Settings) *bool { return &s.PadVocab }),
	{
		"accumulate", "run a batch in `n` equal parts", nil, true,
		func(s *Settings) string { return strconv.Itoa(s.Accumulate) },
		func(s *Settings, v string) error {
			s.MicroBatch = 0
			return setCount(&s.Accumulate, "accumulate", v)
		},
	},
	{
		"micro_batch", "run a batch `m` samples at a time", nil, true,
		func(s *Settings) string { return strconv.Itoa(s.MicroBatch) },
		func(s *Settings, v string) error {
			s.Accumulate = 0
			return setCount(&s.MicroBatch, "micro_batch", v)
		},
	},
	{
		"memory_budget", "`size` of the device that a run may reserve at most; to stay within it, memtrain changes parts of the batch, checkpoints and offload between steps, and changes them back without it",
		[]string{"none"},
		true,
		func(s *Settings) string {
			if s.Budget == 0 {
				return "none"
			}
			return quantity.Exact(s.Budget)
		},
		func(s *Settings, v string) (err error) {
			if s.Budget = 0; v != "none" {
				s.Budget, err = quantity.ParseBytes(v)
			}
			return err
		},
	},
	{
		"clip", "largest `norm` of all gradients together, 0 for no limit", nil, true,
		func(s *Settings) string { return number(s.Clip) },
		func(s *Settings, v string) error { return setNumber(&s.Clip, "clip", v) },
	},
}

// neutralKeys are the settings that do not change the memory that a step needs.
var neutralKeys = []setting{
	{
		"lr", "learning `rate`, before the schedule; by default one that suits the optimizer", nil, true,
		func(s *Settings) string { return number(s.LR) },
		func(s *Settings, v string) error { return setNumber(&s.LR, "lr", v) },
	},
	{
		"schedule", "`how` the rate changes; add ,warmup=STEPS and ,floor=PART if needed",
		choice.Names(optim.Shapes()),
		true,
		func(s *Settings) string { return s.Schedule.String() },
		func(s *Settings, v string) (err error) {
			s.Schedule, err = optim.ParseSchedule(v, s.Schedule.Total)
			return err
		},
	},
}

// mainCopiesKey is the setting that only models in half precision have.
const mainCopiesKey = "main_copies"

// lossKey is the setting that only runs with a cross-entropy have.
const lossKey = "loss"

// shardKey is the setting that only runs of several processes have.
const shardKey = "shard"

// hostKey is the setting that only runs of one process have.
const hostKey = "host"

// residualKey is the setting that only models with a residual stream have.
const residualKey = "residual"

// vocabKey is the setting that only models with a head for a vocabulary have.
const vocabKey = "pad_vocab"

// parsed is a setting with a text that is parsed.
func parsed[T fmt.Stringer](key, about string, choices []string, free bool, of func(s *Settings) *T, parse func(string) (T, error)) setting {
	return setting{
		key, about, choices, free,
		func(s *Settings) string { return (*of(s)).String() },
		func(s *Settings, v string) (err error) {
			*of(s), err = parse(v)
			return err
		},
	}
}

// switchKey is a setting that is on or off: names are those of false and true.
func switchKey(key, about string, names []string, of func(s *Settings) *bool) setting {
	return setting{
		key, about, names, false,
		func(s *Settings) string {
			if *of(s) {
				return names[1]
			}
			return names[0]
		},
		func(s *Settings, v string) error {
			if !slices.Contains(names, v) {
				return fmt.Errorf("%s %q: want on or off", key, v)
			}
			*of(s) = v == names[1]
			return nil
		},
	}
}

// setOptimizer changes the optimizer. It also changes the learning rate if that
// is still the old optimizer's default.
func setOptimizer(s *Settings, v string) error {
	kind, err := optim.ParseKind(v)
	if err != nil || kind == s.Optimizer.Kind {
		return err
	}
	if s.LR == optim.DefaultLR(s.Optimizer.Kind) {
		s.LR = optim.DefaultLR(kind)
	}
	copies := s.Optimizer.NoMainCopies
	s.Optimizer = optim.Defaults(kind)
	s.Optimizer.NoMainCopies = copies
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
