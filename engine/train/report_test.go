package train

import (
	"slices"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots/trace"
)

func TestReportsSayWhatStepsDid(t *testing.T) {
	b := newBench(t, 64<<20, tiny())
	trainer := b.trainer(t, DefaultSettings(), nil)
	set(t, trainer, "accumulate=2")
	e := steps(t, trainer, 2)[1]
	s := trainer.Report(&e)
	if s.Number != 2 || s.Duration != e.Duration.Nanoseconds() || s.Tokens != 8*8 || s.Loss != e.Loss || s.Time == 0 || s.ProbeNS <= 0 {
		t.Errorf("got step %d of %d ns with %d tokens and loss %v at %d", s.Number, s.Duration, s.Tokens, s.Loss, s.Time)
	}
	if s.Allocated != e.Memory.Allocated || s.PeakReserved != e.Memory.PeakReserved || s.PeakAllocated <= s.Allocated {
		t.Errorf("got %d bytes with a peak of %d, %d reserved at most", s.Allocated, s.PeakAllocated, s.PeakReserved)
	}
	var keys []string
	for _, v := range s.Settings {
		keys = append(keys, v.Key)
	}
	equal.Values(t, "settings", slices.Sorted(slices.Values(Keys())), keys)
	for _, want := range values("accumulate=2 micro_batch=4 lr=0.001 memory_budget=none") {
		if !slices.Contains(s.Settings, want) {
			t.Errorf("settings %v, want %v among them", s.Settings, want)
		}
	}
	checkAmounts(t, s.Categories, e.Memory.Now.Category[:])
	checkAmounts(t, s.AtPeak, e.Memory.AtPeak[:])
	checkLayers(t, trainer, &s)
}

func checkAmounts(t *testing.T, got []trace.Amount, bytes []int64) {
	t.Helper()
	sum, all := int64(0), int64(0)
	for _, a := range got {
		sum += a.Bytes
	}
	for _, n := range bytes {
		all += n
	}
	if len(got) != len(bytes) || sum != all || got[0].Name != "parameter" {
		t.Errorf("got %v, want parts of %d bytes", got, all)
	}
}

// checkLayers compares the layer table with the trainer's.
func checkLayers(t *testing.T, trainer *Trainer, s *trace.Step) {
	t.Helper()
	saved := int64(0)
	for i, l := range trainer.Layers() {
		got := &s.Layers[i]
		if got.Name != l.Name || got.OutputShape != l.OutputShape.String() || got.DType != "float32" || got.ForwardNS != l.ForwardNS {
			t.Errorf("layer %d: got %+v, want %+v", i, got, l)
		}
		saved += got.SavedBytes
	}
	if saved == 0 {
		t.Error("no layer saved anything")
	}
	names := map[string]bool{}
	for i := range s.Layers {
		if names[s.Layers[i].Name] {
			t.Errorf("two layers are named %q", s.Layers[i].Name)
		}
		names[s.Layers[i].Name] = true
	}
}

func TestPlantedLeaksGrowByTheSameEveryStep(t *testing.T) {
	fatal.IfShort(t)
	g := tiny()
	g.Context = 16 // a copy of the inputs is then a whole block of 512 bytes
	tests := map[string]struct {
		leak     Leak
		category trace.Category
		bytes    int64 // requested, a step
	}{
		"kept activations":  {LeakActivations, trace.Activation, 8 * 16 * 256 * 4},
		"a growing cache":   {LeakCache, trace.Workspace, cacheEntry * 4},
		"a kept gradient":   {LeakGradients, trace.Gradient, 256 * 16 * 4},
		"a handle lost":     {LeakHandle, trace.Input, 8 * 16 * 4},
		"nothing is leaked": {NoLeak, trace.OtherCategory, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 256<<20, g)
			if test.leak == LeakHandle {
				b.lost = 30 * test.bytes // it can never be given back
			}
			trainer := b.trainer(t, DefaultSettings(), nil)
			trainer.Plant(test.leak)
			before := steps(t, trainer, 1)[0]
			for _, e := range steps(t, trainer, 29) {
				growth := e.Memory.Now.Category[test.category] - before.Memory.Now.Category[test.category]
				if growth != test.bytes {
					t.Fatalf("step %d: %s grew by %d bytes, want %d", e.Step, test.category, growth, test.bytes)
				}
				if all := e.Memory.Allocated - before.Memory.Allocated; all != test.bytes {
					t.Fatalf("step %d: allocated memory grew by %d bytes, want %d", e.Step, all, test.bytes)
				}
				before = e
			}
			if got, err := ParseLeak(test.leak.String()); err != nil || got != test.leak {
				t.Errorf("%v parses as %v, %v", test.leak, got, err)
			}
		})
	}
	if _, err := ParseLeak("everything"); err == nil {
		t.Error("an unknown leak was accepted")
	}
}

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
