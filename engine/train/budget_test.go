package train

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/snapshots/trace"
)

// budgeted is a model for which 20 sizes of memory give different results.
func budgeted() nn.GPTConfig {
	g := tiny()
	g.Layers, g.Dim, g.Context = 3, 64, 128
	return g
}

// plan is the run of a bench's model.
func (b *bench) plan(g nn.GPTConfig) Plan {
	return Plan{Build: gpt(g), Spec: b.set.Spec(), Batch: 8, Settings: DefaultSettings()}
}

// keepWithin trains with a budget and returns the trainer's steps, what was
// changed, and how often memory ran out.
func keepWithin(t *testing.T, g nn.GPTConfig, bytes int64, n int, between func(step int, trainer *Trainer)) ([]Event, []Adjustment, int) {
	t.Helper()
	b := newBench(t, 64<<20, g)
	s := DefaultSettings()
	s.Budget = bytes
	ranOut := 0
	var told []Adjustment
	trainer := b.trainer(t, s, func(c *Config) {
		c.Build = gpt(g)
		c.SaveOOM = func(*alloc.OOMError) (string, error) {
			ranOut++
			return "", nil
		}
		c.Adjusted = func(a Adjustment) { told = append(told, a) }
	})
	var list []Event
	for step := range n {
		if between != nil {
			between(step, trainer)
		}
		e, err := trainer.Step(t.Context())
		if err != nil {
			t.Fatalf("%d bytes, step %d: %v", bytes, step+1, err)
		}
		list = append(list, e)
	}
	return list, told, ranOut
}

// TestARunStaysWithinItsBudget tries budgets between the least that is possible
// and what the run would take: a few, or 20 with MEMTOP_LONG.
func TestARunStaysWithinItsBudget(t *testing.T) {
	fatal.IfShort(t)
	g := budgeted()
	b := newBench(t, 64<<20, g)
	const n = 3
	free := steps(t, b.trainer(t, DefaultSettings(), nil), n)
	var small *TooSmallError
	if _, err := b.plan(g).Within(t.Context(), granularity/2); !errors.As(err, &small) || !strings.Contains(err.Error(), "the least that this run can do with is") {
		t.Fatalf("got error %v, want a TooSmallError", err)
	}
	most := free[n-1].Memory.PeakReserved
	if small.Least >= most*2/3 {
		t.Fatalf("the least is %d bytes, and freely it takes %d: too little between them to try", small.Least, most)
	}
	r := rand.New(rand.NewPCG(1, 2))
	changed := make(map[string]bool)
	budgets := 3
	if os.Getenv("MEMTOP_LONG") != "" {
		budgets = 20
	}
	for i := range budgets {
		bytes := small.Least + r.Int64N(most-small.Least)
		if i == 0 {
			bytes = small.Least
		}
		list, _, ranOut := keepWithin(t, g, bytes, n, nil)
		for k, e := range list {
			if e.Memory.PeakReserved > bytes {
				t.Errorf("%d bytes: step %d has reserved %d", bytes, e.Step, e.Memory.PeakReserved)
			}
			if math.Abs(e.Loss-free[k].Loss) > 1e-4 {
				t.Errorf("%d bytes: step %d has loss %v, and freely %v", bytes, e.Step, e.Loss, free[k].Loss)
			}
		}
		if ranOut > 0 {
			t.Errorf("%d bytes: memory ran out %d times", bytes, ranOut)
		}
		start := DefaultSettings()
		for _, c := range changes(&start, &list[n-1].Settings) {
			changed[c.Key] = true
		}
	}
	if !changed["micro_batch"] || !changed["offload"] {
		t.Errorf("only %v were changed", changed)
	}
}

// TestABudgetHoldsWhenSettingsAreChangedFromOutside changes a run to settings
// that do not fit, and back.
func TestABudgetHoldsWhenSettingsAreChangedFromOutside(t *testing.T) {
	g := budgeted()
	b := newBench(t, 64<<20, g)
	s := DefaultSettings()
	s.MicroBatch = 1
	trainer := b.trainer(t, s, func(c *Config) { c.Build = gpt(g) })
	bytes := steps(t, trainer, 2)[1].Memory.PeakReserved
	list, told, ranOut := keepWithin(t, g, bytes, 8, func(step int, trainer *Trainer) {
		if change := map[int]string{3: "micro_batch=8", 5: "lr=0.002", 6: "optimizer=sgd"}[step]; change != "" {
			set(t, trainer, change)
		}
	})
	for _, e := range list {
		if e.Memory.PeakReserved > bytes {
			t.Errorf("step %d has reserved %d bytes of %d", e.Step, e.Memory.PeakReserved, bytes)
		}
	}
	if ranOut > 0 {
		t.Errorf("memory ran out %d times, want the change to be foreseen", ranOut)
	}
	if list[3].Settings.MicroBatch == 8 {
		t.Error("all samples at a time fit")
	}
	if list[7].Settings.LR == 0.001 || list[7].Settings.Optimizer.Kind.String() != "sgd" {
		t.Errorf("in the end settings are %v", list[7].Settings.Values())
	}
	var steps []int64
	for _, a := range told {
		if a.Why == "" || len(a.Changes) == 0 || slices.ContainsFunc(a.Changes, func(v trace.Value) bool { return v.Value == "0" }) {
			t.Errorf("step %d: %v changed because %q", a.Step, a.Changes, a.Why)
		}
		steps = append(steps, a.Step)
	}
	t.Logf("changed at steps %v: %+v", steps, told)
}

// TestAStepIsTakenAgainWhenOthersTakeMemory fills the device between steps.
func TestAStepIsTakenAgainWhenOthersTakeMemory(t *testing.T) {
	g := budgeted()
	free := steps(t, newBench(t, 64<<20, g).trainer(t, DefaultSettings(), nil), 6)
	bytes := free[5].Memory.PeakReserved
	list, told, ranOut := keepWithin(t, g, bytes, 6, func(step int, trainer *Trainer) {
		if step < 3 || step > 4 {
			return
		}
		m := trainer.config.Device.Memory()
		m.EmptyCache()
		for range 2 { // a segment
			if _, err := m.Alloc(1<<20, 0, alloc.Tag{}); err != nil {
				t.Fatal(err)
			}
		}
	})
	for k, e := range list {
		if e.Step != int64(k+1) || e.Memory.PeakReserved > bytes || math.Abs(e.Loss-free[k].Loss) > 1e-4 {
			t.Errorf("step %d has reserved %d bytes of %d and loss %v, and freely %v", e.Step, e.Memory.PeakReserved, bytes, e.Loss, free[k].Loss)
		}
	}
	if ranOut == 0 {
		t.Error("memory did not run out")
	}
	if len(told) == 0 || told[len(told)-1].Step < 4 {
		t.Errorf("changed %+v, want a change after the memory was taken", told)
	}
}

// TestABudgetIsSwitchedOnAndOff changes the budget of a run under way, and undoes
// changes as viewers do: by the value that was shown before.
func TestABudgetIsSwitchedOnAndOff(t *testing.T) {
	g := budgeted()
	b := newBench(t, 64<<20, g)
	trainer := b.trainer(t, DefaultSettings(), func(c *Config) { c.Build = gpt(g) })
	shown := func(key string) string {
		for _, o := range trainer.Options() {
			if o.Key == key {
				return o.Value
			}
		}
		return ""
	}
	free := steps(t, trainer, 4)[3]
	budget := free.Memory.PeakReserved * 2 / 3
	change := fmt.Sprint("memory_budget=", budget)
	foreseen := predict(t, trainer, change)
	asShown := func() map[string]string { return trainer.filled(trainer.Settings()).Values() }
	before := asShown()
	set(t, trainer, change)
	if off := foreseen.PeakAllocated - (steps(t, trainer, 2)[1].Memory.PeakAllocated - free.Memory.PeakAllocated); off < -4096 || off > 4096 {
		t.Errorf("predicted %+d bytes, which is off by %d", foreseen.PeakAllocated, off)
	}
	for _, e := range steps(t, trainer, 2) {
		if e.Memory.PeakReserved > budget {
			t.Errorf("step %d has reserved %d bytes of %d", e.Step, e.Memory.PeakReserved, budget)
		}
	}
	chosen := shown("micro_batch")
	if chosen == "8" {
		t.Fatal("the budget changes nothing")
	}
	set(t, trainer, "micro_batch=1")
	steps(t, trainer, 1)
	set(t, trainer, "micro_batch="+chosen) // as undo does
	steps(t, trainer, 1)
	if got := shown("micro_batch"); got != chosen {
		t.Errorf("undone, %s samples run at a time, want %s", got, chosen)
	}
	set(t, trainer, "memory_budget=none")
	again := steps(t, trainer, 2)[1]
	equal.Values(t, "without the budget", before, asShown())
	if again.Memory.PeakAllocated != free.Memory.PeakAllocated {
		t.Errorf("without the budget a step takes %d bytes, before it %d", again.Memory.PeakAllocated, free.Memory.PeakAllocated)
	}
}

func TestABudgetOfARunningProgramBelowTheLeastIsRefused(t *testing.T) {
	g := budgeted()
	trainer := newBench(t, 64<<20, g).trainer(t, DefaultSettings(), func(c *Config) { c.Build = gpt(g) })
	steps(t, trainer, 1)
	err := trainer.Change("memory_budget", "1MiB")
	if err == nil || err.Error() != "1MiB are too little: the least that this run can do with is 2MiB" {
		t.Errorf("got %v", err)
	}
	if trainer.Settings().Budget != 0 {
		t.Error("the budget is set")
	}
}
