package program

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/train"
)

// variant is a possible run: the run that flags describe, with changes. It is a
// value.
type variant struct {
	*options
	spec     data.Spec
	half     half
	settings train.Settings
	ranks    int // processes that train together
}

// plan returns the variant as a plan that has not begun.
func (v *variant) plan() train.Plan {
	o := *v.options
	o.half = v.half
	plan := train.Plan{Build: o.build, Spec: v.spec, Batch: v.batch, Settings: v.settings}
	if v.ranks > 1 {
		plan.Group = collective.Rehearsal(0, v.ranks)
	}
	return plan
}

// undivided returns the settings but for what processes divide, which reports
// have elsewhere.
func (v *variant) undivided() train.Settings {
	s := v.settings
	s.Shard = train.ShardNothing
	return s
}

func (v *variant) estimate(ctx context.Context) (train.Estimate, error) {
	return v.plan().Estimate(ctx)
}

// fits says on which sizes of devices the variant runs; m is its known memory.
func (v *variant) fits(ctx context.Context, m *train.Memory) (map[string]bool, error) {
	fits := make(map[string]bool, len(deviceSizes))
	for _, s := range deviceSizes {
		ok, err := v.fitsIn(ctx, m, s.bytes-outsideBytes)
		if err != nil {
			return nil, err
		}
		fits[s.name] = ok
	}
	return fits, nil
}

// fitsIn reports whether the given bytes are enough. They are too few below the
// allocated peak, and enough above the bytes reserved in unlimited memory.
// Between the two only a rehearsal tells, because the allocator gives back its
// cache before it fails.
func (v *variant) fitsIn(ctx context.Context, m *train.Memory, capacity int64) (bool, error) {
	if m.PeakReserved <= capacity || m.PeakAllocated > capacity {
		return m.PeakReserved <= capacity, nil
	}
	plan := v.plan()
	plan.Capacity = capacity
	_, runs, err := plan.Runs(ctx)
	return runs, err
}

// technique is a change that may lower what a run needs.
type technique struct {
	key, value string
	apply      func(v *variant, value string) error
	alone      bool // it does not go with those before it
}

// techniques are in the order in which to try them: the cheapest first.
var techniques = []technique{
	{"attention", "flash", setting("attention"), false},
	{"loss", "lean", setting("loss"), false},
	{"amp", "bf16", mixed, false},
	{"half", "bf16", halved, true},
	{"checkpoint", "block", setting("checkpoint"), false},
	{"micro_batch", "1", setting("micro_batch"), false},
	{"optimizer", "adamw8bit", setting("optimizer"), false},
	{"main_copies", "off", pure, false},
	{"shard", "optimizer", shard, false},
	{"shard", "gradients", shard, false},
	{"shard", "parameters", shard, false},
}

// shard has several processes divide what they have; one cannot.
func shard(v *variant, value string) error {
	s, err := train.ParseShard(value)
	if v.ranks > 1 && v.settings.Shard < s && v.settings.Offload == (train.Offload{}) {
		v.settings.Shard = s
	}
	return err
}

// mixed applies mixed precision, which needs a model in float32.
func mixed(v *variant, mode string) error {
	if v.half != "" {
		return nil
	}
	return setting("amp")(v, mode)
}

// halved makes the whole model half precision.
func halved(v *variant, kind string) error {
	if v.half == "" {
		v.half = half(kind)
	}
	return nil
}

// pure makes half precision go without main copies.
func pure(v *variant, off string) error {
	if v.half == "" {
		return nil
	}
	return setting("main_copies")(v, off)
}

// setting applies a technique that is a setting.
func setting(key string) func(v *variant, value string) error {
	return func(v *variant, value string) (err error) {
		v.settings, err = v.settings.With(key, value)
		return err
	}
}

// with returns the variant with changes, and whether they changed anything.
func (v *variant) with(list ...technique) (changed variant, other bool, err error) {
	changed = *v
	for _, t := range list {
		if err := t.apply(&changed, t.value); err != nil {
			return changed, false, err
		}
	}
	parts, err := changed.settings.Parts(v.batch)
	if err != nil {
		return changed, false, err
	}
	before, err := v.settings.Parts(v.batch)
	same := slices.Equal(parts, before) && changed.half == v.half
	for key, value := range changed.settings.Values() {
		same = same && (partly[key] || value == v.settings.Values()[key])
	}
	return changed, !same, err
}

// partly are the two settings that say the same thing.
var partly = map[string]bool{"micro_batch": true, "accumulate": true}

// techniques returns the techniques that lower the peak of the run by themselves,
// and then those that lower it further together; m is the run's known memory. A
// technique that saves more by itself than with the earlier ones replaces them.
func (v *variant) techniques(ctx context.Context, m *train.Memory) ([]Technique, error) {
	each, err := v.triedEach(ctx)
	if err != nil {
		return nil, err
	}
	alone, together := []Technique{}, []Technique{}
	var taken []technique
	lowest := m.PeakReserved
	for i, t := range techniques {
		one := each[i]
		if one == nil || one.PeakReserved >= m.PeakReserved {
			continue
		}
		alone = append(alone, *one)
		if t.alone {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(taken), func(other technique) bool { return other.key == t.key })
		more := one
		if len(others) > 0 {
			if more, err = v.tried(ctx, append(others, t)...); err != nil {
				return nil, err
			}
		}
		switch {
		case min(one.PeakReserved, more.PeakReserved) >= lowest:
		case one.PeakReserved <= more.PeakReserved:
			taken, lowest = []technique{t}, one.PeakReserved
		default:
			taken, lowest = append(others, t), more.PeakReserved
			together = append(together, *more)
		}
	}
	return append(alone, together...), nil
}

// triedEach rehearses the variant with each technique alone, side by side.
func (v *variant) triedEach(ctx context.Context) ([]*Technique, error) {
	list, errs := make([]*Technique, len(techniques)), make([]error, len(techniques))
	var running sync.WaitGroup
	for i, t := range techniques {
		running.Go(func() { list[i], errs[i] = v.tried(ctx, t) })
	}
	running.Wait()
	return list, errors.Join(errs...)
}

// tried rehearses the variant with changes. It returns nil when they change nothing.
func (v *variant) tried(ctx context.Context, list ...technique) (*Technique, error) {
	other, changed, err := v.with(list...)
	if err != nil || !changed {
		return nil, err
	}
	e, err := other.estimate(ctx)
	if err != nil {
		return nil, err
	}
	t := &Technique{Change: make(map[string]string), PeakAllocated: e.Memory.PeakAllocated, PeakReserved: e.Memory.PeakReserved}
	for _, one := range list {
		t.Change[one.key] = one.value
		t.words = append(t.words, one.key+"="+one.value)
	}
	t.Fits, err = other.fits(ctx, &e.Memory)
	return t, err
}
