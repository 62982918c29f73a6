package train

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/snapshots/trace"
)

// TestAnActionGivesBackWhatWasPredicted changes settings so that unused memory
// stays reserved, and then gives it back with an action, as a user would.
func TestAnActionGivesBackWhatWasPredicted(t *testing.T) {
	for _, action := range []string{"empty-cache", "aggressive-clear"} {
		t.Run(action, func(t *testing.T) {
			trainer := newBench(t, 256<<20, visible()).trainer(t, DefaultSettings(), func(c *Config) { c.Batch = 16 })
			steps(t, trainer, 2)
			set(t, trainer, "checkpoint=block")
			before := steps(t, trainer, 3)[2]
			p := predict(t, trainer, "action="+action)
			if p == nil || p.Reserved == nil || *p.Reserved >= 0 || *p.Reserved != -before.Memory.Now.Releasable {
				t.Fatalf("predicted %+v, the last step has left %d bytes", p, before.Memory.Now.Releasable)
			}
			set(t, trainer, "action="+action)
			list := steps(t, trainer, 3)
			m := &list[0].Memory
			if got, want := m.Reserved-m.PeakReserved, *p.Reserved; got != want || m.Now.Releasable != 0 {
				t.Errorf("the action moved %+d bytes and left %d, predicted %+d", got, m.Now.Releasable, want)
			}
			if m.Now.Category != before.Memory.Now.Category || list[2].Memory.PeakAllocated != before.Memory.PeakAllocated {
				t.Errorf("what is in use was %+v, is %+v and then %+v", before.Memory, *m, list[2].Memory)
			}
			if list[0].Values()["action"] != action || list[1].Action != NoAction {
				t.Errorf("the steps say %v and %v", list[0].Action, list[1].Action)
			}
		})
	}
}

func TestAnActionLeavesLossesAndSettingsAlone(t *testing.T) {
	run := func(change string) ([]float64, map[string]string) {
		trainer := newBench(t, 64<<20, tiny()).trainer(t, DefaultSettings(), nil)
		list := steps(t, trainer, 3)
		if change != "" {
			set(t, trainer, change)
		}
		list = append(list, steps(t, trainer, 4)...)
		return losses(list), trainer.Settings().Values()
	}
	losses, values := run("")
	for _, action := range Actions() {
		got, after := run("action=" + action.String())
		if diff := cmp.Diff(losses, got) + cmp.Diff(values, after); diff != "" {
			t.Errorf("%v (-without +with):\n%s", action, diff)
		}
	}
}

func TestAnAggressiveClearEmptiesTheHostToo(t *testing.T) {
	b := newBench(t, 64<<20, visible())
	trainer := b.trainer(t, DefaultSettings(), nil)
	set(t, trainer, "offload=activations")
	steps(t, trainer, 2)
	host := b.device.HostMemory()
	reserved := func() int64 { s := host.Stats(); return s.Reserved() }
	set(t, trainer, "action=empty-cache")
	steps(t, trainer, 1)
	if reserved() == 0 {
		t.Fatal("the host keeps nothing that could be given back")
	}
	set(t, trainer, "action=aggressive-clear")
	steps(t, trainer, 1)
	if n := reserved(); n != 0 {
		t.Errorf("the host keeps %d bytes", n)
	}
}

func TestWhatAnActionGivesBackIsNotAlwaysKnown(t *testing.T) {
	tests := map[string]struct {
		before int    // steps
		change string // "" for none
		after  int
	}{
		"before the first step":                        {},
		"after the first, which finds an empty device": {before: 1},
		"when settings have changed since":             {3, "amp=bf16", 0},
		"after the first step with them":               {3, "amp=bf16", 1},
		"when it was done just now":                    {3, "action=empty-cache", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			trainer := newBench(t, 64<<20, tiny()).trainer(t, DefaultSettings(), nil)
			steps(t, trainer, test.before)
			if test.change != "" {
				set(t, trainer, test.change)
			}
			steps(t, trainer, test.after)
			if p := predict(t, trainer, "action=empty-cache"); p != nil {
				t.Errorf("got %+v", p)
			}
			steps(t, trainer, 2)
			if p := predict(t, trainer, "action=empty-cache"); p == nil {
				t.Error("two steps later it is not known either")
			}
		})
	}
}

func TestAnActionThatIsNone(t *testing.T) {
	trainer := newBench(t, 64<<20, tiny()).trainer(t, DefaultSettings(), nil)
	for _, value := range []string{"none", "collect-garbage", ""} {
		if err := trainer.Change("action", value); err == nil {
			t.Errorf("%q was accepted", value)
		}
		if _, err := trainer.Predict(t.Context(), []trace.Value{{Key: "action", Value: value}}); err == nil {
			t.Errorf("%q was predicted", value)
		}
	}
}
