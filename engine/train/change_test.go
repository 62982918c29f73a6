package train

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestAChangeHoldsFromTheNextStepOn makes a change in the middle of step 3, and
// compares with two separate runs.
func TestAChangeHoldsFromTheNextStepOn(t *testing.T) {
	reference := separately(t, "checkpoint=none")
	for name, change := range map[string]string{
		"checkpoints":       "checkpoint=block",
		"mixed precision":   "amp=bf16",
		"the optimizer":     "optimizer=adamw8bit",
		"no moments":        "optimizer=sgd",
		"parts":             "accumulate=4",
		"what is offloaded": "offload=optimizer+gradients+parameters+activations",
	} {
		t.Run(name, func(t *testing.T) {
			trainer := newBench(t, 256<<20, visible()).trainer(t, DefaultSettings(), nil)
			before := steps(t, trainer, 2)[1]
			inTheMiddle(t, trainer, change)
			during := steps(t, trainer, 1)[0]
			if during.Memory != before.Memory {
				t.Errorf("step 3 was under way already, and changed: before %+v, then %+v", before.Memory, during.Memory)
			}
			after := steps(t, trainer, 3)[2]

			alone := separately(t, change)
			for what, of := range map[string]func(*Memory) int64{
				"peak allocated":          func(m *Memory) int64 { return m.PeakAllocated },
				"allocated":               func(m *Memory) int64 { return m.Allocated },
				"activations at the peak": func(m *Memory) int64 { return m.AtPeak[trace.Activation] },
				"optimizer state":         func(m *Memory) int64 { return m.Now.Category[trace.Optimizer] },
			} {
				got, want := of(&after.Memory)-of(&during.Memory), of(&alone)-of(&reference)
				if !near(got, want) {
					t.Errorf("%s: the change moved %+d bytes, separate runs differ by %+d", what, got, want)
				}
			}
		})
	}
}

// inTheMiddle changes a setting while the next step is under way.
func inTheMiddle(t *testing.T, trainer *Trainer, change string) {
	t.Helper()
	var remove func()
	remove = trainer.Ctx().AddHooks(nn.Hooks{Backward: func(*nn.Ctx, *nn.Layer, *tensor.Tensor) {
		if remove != nil {
			set(t, trainer, change)
			remove()
			remove = nil
		}
	}})
}

// separately returns the memory of a run that has a setting from the beginning.
func separately(t *testing.T, setting string) Memory {
	t.Helper()
	trainer := newBench(t, 256<<20, visible()).trainer(t, DefaultSettings(), nil)
	set(t, trainer, setting)
	return steps(t, trainer, 3)[2].Memory
}

func text(snapshot *trace.Trace, e *trace.Event) string {
	return snapshot.Tables.Strings[snapshot.Tables.Notes[e.Note].UserMetadata]
}

func TestChangesOfOneSettingLeaveTheOthers(t *testing.T) {
	trainer := newBench(t, 64<<20, tiny()).trainer(t, DefaultSettings(), func(c *Config) { c.Build = gpt(tiny()) })
	for _, change := range []string{"amp=bf16", "micro_batch=4", "checkpoint=every=2"} {
		set(t, trainer, change)
	}
	for _, wrong := range [][2]string{{"amp", "tf32"}, {"accumulate", "3"}, {"depth", "1"}} {
		if err := trainer.Change(wrong[0], wrong[1]); err == nil {
			t.Errorf("%v was accepted", wrong)
		}
	}
	got := map[string]string{}
	for _, o := range trainer.Options() {
		got[o.Key] = o.Value
		if o.About == "" || len(o.Choices) == 0 && !o.Free {
			t.Errorf("%+v does not say what it is or what it takes", o)
		}
		for _, choice := range o.Choices {
			if err := trainer.Change(o.Key, choice); err != nil {
				t.Errorf("%s=%s is a choice, but: %v", o.Key, choice, err)
			}
		}
	}
	for key, want := range map[string]string{"amp": "bf16", "micro_batch": "4", "accumulate": "2", "checkpoint": "every=2", "optimizer": "adamw"} {
		if got[key] != want {
			t.Errorf("%s is %s, want %s", key, got[key], want)
		}
	}
}

// TestAChangeKeepsAnotherMadeAtTheSameTime makes a second change after the first
// has read the settings and before it has written them.
func TestAChangeKeepsAnotherMadeAtTheSameTime(t *testing.T) {
	trainer := newBench(t, 64<<20, tiny()).trainer(t, DefaultSettings(), nil)
	keys := settingKeys
	t.Cleanup(func() { settingKeys = keys })
	settingKeys = slices.Clone(keys)
	clip := &settingKeys[slices.IndexFunc(keys, func(k setting) bool { return k.key == "clip" })]
	set, calls := clip.set, 0
	clip.set = func(s *Settings, value string) error {
		if calls++; calls == 1 {
			if err := trainer.Change("lr", "0.5"); err != nil {
				t.Error(err)
			}
		}
		return set(s, value)
	}
	fatal.If(t, trainer.Change("clip", "7"))
	if s := trainer.Settings(); s.LR != 0.5 || s.Clip != 7 || calls != 2 {
		t.Errorf("lr %v and clip %v after %d tries, want 0.5 and 7 after 2", s.LR, s.Clip, calls)
	}
}
