package train

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tracetest"
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

// TestEverySettingThatWasChosenIsNamed changes each setting of the table by
// itself, to its first other choice if it has choices.
func TestEverySettingThatWasChosenIsNamed(t *testing.T) {
	if list := DefaultSettings().Chosen(); len(list) > 0 {
		t.Errorf("by default: got %v", list)
	}
	for _, k := range settingKeys {
		s := DefaultSettings()
		value := "2"
		for _, choice := range k.choices {
			if choice != k.get(&s) {
				value = choice
			}
		}
		s, err := s.With(k.key, value)
		fatal.If(t, err)
		want := []trace.Value{{Key: k.key, Value: k.get(&s)}}
		if k.key == "optimizer" {
			want = nil // its own rate is not chosen either
		}
		equal.Values(t, fmt.Sprintf("%s=%s", k.key, value), want, s.Chosen())
	}
}

// TestSettingsOfAnotherVersionAreLeftAlone reads those of a run that was saved when
// there was one more.
func TestSettingsOfAnotherVersionAreLeftAlone(t *testing.T) {
	s, err := DefaultSettings().withAll(map[string]string{"checkpoint": "block", "in_place": "on"})
	if got := s.Checkpoint.String(); err != nil || got != "block" {
		t.Errorf("checkpoint=%s, %v", got, err)
	}
}

func TestAFlagNamesItsValueOnceAndNoNumberIsRefused(t *testing.T) {
	for _, key := range Keys() {
		if help := Help(key); strings.Count(help, "`") != 2 {
			t.Errorf("%s: %q names its value not once", key, help)
		}
	}
	for _, key := range []string{"clip", "accumulate"} {
		if _, err := DefaultSettings().With(key, "-1"); err == nil {
			t.Errorf("%s=-1 is taken", key)
		}
	}
}

func TestStepsAndChangesAreEvents(t *testing.T) {
	b := newBench(t, 64<<20, tiny())
	b.device.Memory().SetHistory(1 << 16)
	trainer := b.trainer(t, DefaultSettings(), nil)
	steps(t, trainer, 2)
	set(t, trainer, "checkpoint=block")
	set(t, trainer, "optimizer=lion")
	set(t, trainer, "action=empty-cache")
	steps(t, trainer, 1)
	var got []string
	snapshot := b.device.Memory().Snapshot()
	events := snapshot.Devices[0].Events
	for i := range events.Len() {
		switch e := events.At(i); e.Kind {
		case trace.StepBegin, trace.StepEnd, trace.SettingChanged:
			got = append(got, fmt.Sprint(e.Kind, " ", e.Size, " ", text(snapshot, e)))
		default:
		}
	}
	want := []string{
		"step_begin 1 ", "step_end 1 ", "step_begin 2 ", "step_end 2 ",
		"step_begin 3 ",
		"setting_changed 3 checkpoint=block", "setting_changed 3 optimizer=lion", "setting_changed 3 lr=0.0001", "setting_changed 3 action=empty-cache",
		"step_end 3 ",
	}
	equal.Values(t, "the result", want, got)
	if problems := tracetest.Check(snapshot); problems.Count > 0 {
		t.Errorf("%d problems: %v", problems.Count, problems.First)
	}
}

// TestSettingsMayBeChangedFromAnywhere is for the race detector, too.
func TestSettingsMayBeChangedFromAnywhere(t *testing.T) {
	trainer := rehearsing(t, tiny())
	done := make(chan struct{}) // closed by this test when the steps are taken
	var wait sync.WaitGroup
	wait.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			s := trainer.Settings()
			s.Checkpoint = nn.Every(1 + i%4)
			if err := trainer.Set(s); err != nil {
				t.Error(err)
			}
			if _, err := trainer.Predict(t.Context(), values("amp=bf16")); err != nil {
				t.Error(err)
			}
			trainer.Options()
			m, sum := ReadMemory(trainer.config.Device.Memory()), int64(0)
			for _, source := range m.Sources() {
				sum += source.Bytes
			}
			if sum != m.Reserved {
				t.Errorf("in the middle of a step the sources add up to %d bytes, %d are reserved", sum, m.Reserved)
			}
		}
	})
	for range 10 {
		e := steps(t, trainer, 1)[0]
		trainer.Report(&e)
	}
	close(done)
	wait.Wait()
}
