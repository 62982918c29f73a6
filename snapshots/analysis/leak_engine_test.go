package analysis_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/leak"
	"github.com/memtop/memtop/snapshots/trace"
)

// engineRun is a training run of the engine.
type engineRun struct {
	plant   train.Leak
	changes map[int]string // key=value, by the step that follows
}

// checkpoints are switched on and off, twice.
var checkpoints = map[int]string{9: "checkpoint=block", 16: "checkpoint=none", 23: "checkpoint=block", 30: "checkpoint=none"}

// recorder keeps the events that an allocator records.
type recorder struct{ log trace.EventLog }

func (r *recorder) Record(_ int, e trace.Event) { r.log.Append(e) }

// trace takes 40 steps, and returns what a viewer has that watched all of them.
func (r engineRun) trace(t *testing.T) *trace.Trace {
	t.Helper()
	c, err := cpu.Open(cpu.Options{Capacity: 64 << 20})
	fatal.If(t, err)
	defer c.Close() //nolint:errcheck // the memory of a test
	a, err := alloc.New(c, alloc.Options{Stacks: true})
	fatal.If(t, err)
	lost := make(chan tensor.Leak, 100) // more than there are steps
	d := tensor.NewDevice("cpu:0", a, c, tensor.Options{})
	d.OnLeak(func(l tensor.Leak) { a.Lost(l.Allocation); lost <- l })
	config := nn.GPTConfig{Layers: 2, Dim: 16, Heads: 2, Context: 32, Vocab: 256}
	m, err := nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.GPT { return nn.NewGPT(b, config) })
	fatal.If(t, err)
	defer nn.Close(m)
	set, err := data.NewWindows(data.Corpus(), config.Context)
	fatal.If(t, err)
	batches, err := data.NewLoader(set, data.LoaderOptions{Batch: 2})
	fatal.If(t, err)
	defer batches.Close()
	trainer, err := train.New(train.Config{Device: d, Model: m, Batches: batches, Spec: set.Spec(), Batch: 2, Settings: train.DefaultSettings()})
	fatal.If(t, err)
	defer trainer.Close()
	trainer.Plant(r.plant)
	base, events := a.State(nil), &recorder{}
	a.Observe(events)
	tr := &trace.Trace{Live: &trace.Live{Options: trainer.Options()}}
	for step := 1; step <= 40; step++ {
		if key, value, some := strings.Cut(r.changes[step], "="); some {
			fatal.If(t, trainer.Change(key, value))
		}
		e, err := trainer.Step(t.Context())
		fatal.If(t, err)
		tr.Steps = append(tr.Steps, trainer.Report(&e))
		if r.plant == train.LeakHandle {
			awaitLoss(t, lost)
		}
	}
	a.Observe(nil)
	tables := a.Names().Tables()
	tr.Tables, tr.Devices = &tables, []trace.Device{{Base: &base, Events: events.log.Events(), Final: a.State(nil)}}
	return tr
}

// awaitLoss waits until the garbage collector has found one more tensor that was lost.
func awaitLoss(t *testing.T, lost <-chan tensor.Leak) {
	t.Helper()
	for limit := time.After(time.Minute); ; runtime.GC() {
		select {
		case <-lost:
			return
		case <-limit:
			t.Fatal("no lost tensor is found")
		default:
		}
	}
}

// TestLeaksOfTheEngineAreNamed has runs whose leak is known: it is named within 20 steps and
// to the end, and nothing else ever is.
func TestLeaksOfTheEngineAreNamed(t *testing.T) {
	fatal.IfShort(t)
	for name, test := range map[string]struct {
		engineRun
		site  string // that leaks
		trend leak.Trend
	}{
		"activations":                 {engineRun{plant: train.LeakActivations}, "loss linear output of lm_head", leak.Suspected},
		"gradients":                   {engineRun{plant: train.LeakGradients}, "wte grad", leak.Suspected},
		"what cannot be reached":      {engineRun{plant: train.LeakHandle}, "data copy of the input", leak.Unreachable},
		"a cache, as settings change": {engineRun{train.LeakCache, checkpoints}, "positions cached table", leak.Suspected},
		"nothing, as checkpoints do":  {engineRun{changes: checkpoints}, "none", leak.Steady},
		"nothing":                     {engineRun{changes: map[int]string{12: "optimizer=lion", 24: "amp=bf16", 30: "accumulate=2"}}, "none", leak.Steady},
	} {
		t.Run(name, func(t *testing.T) {
			tr := test.trace(t)
			x := analysis.NewIndex(tr, &tr.Devices[0])
			ended := leak.Steady
			for _, step := range x.Steps() {
				for _, s := range x.Sites(step.To - 1) {
					switch leaks := strings.HasPrefix(s.Name, test.site); {
					case !leaks && s.Trend >= leak.Suspected:
						t.Errorf("step %d: %s is called a leak: %s", step.Number, s.Name, s.Reason)
					case leaks && step.Number >= 20 && s.Trend < leak.Suspected:
						t.Errorf("step %d: %s: %s", step.Number, s.Trend, s.Reason)
					case leaks:
						ended = s.Trend
					}
				}
			}
			if ended != test.trend {
				t.Errorf("at the end it is %s, want %s", ended, test.trend)
			}
		})
	}
}

// TestExperimentsOfTheEngineAreMeasured switches checkpoints on and off, twice:
// each time the peak moves by the same.
func TestExperimentsOfTheEngineAreMeasured(t *testing.T) {
	tr := engineRun{changes: checkpoints}.trace(t)
	steady := engineRun{}.trace(t)
	x := analysis.NewIndex(tr, &tr.Devices[0])
	all := x.Experiments()
	if len(all) != 4 {
		t.Fatalf("%d changes were found, want 4: %+v", len(all), all)
	}
	without := float64(steady.Steps[len(steady.Steps)-1].PeakAllocated)
	first := all[0].Effects[analysis.PeakAllocatedQuantity]
	if first.Delta >= 0 || first.Before.Median != without {
		t.Errorf("checkpoints move the peak by %v from %v, want it lower than %v", first.Delta, first.Before.Median, without)
	}
	for i := range all {
		e, peak := &all[i], all[i].Effects[analysis.PeakAllocatedQuantity]
		want := first.Delta
		if e.To == "none" {
			want = -want
		}
		if !e.Done() || e.Key != "checkpoint" || len(e.Overlaps) > 0 || !peak.Measured || peak.Delta != want {
			t.Errorf("%s=%s at step %d: %+v, want %v", e.Key, e.To, e.Step, peak, want)
		}
		if event := x.Device().Events.At(max(0, e.Event)); e.Event < 0 || event.Size != e.Step {
			t.Errorf("%s=%s at step %d: its event is number %d", e.Key, e.To, e.Step, e.Event)
		}
	}
}

// TestThePeakOfTheLastStepIsTheEngines compares the event of the peak with what the
// engine, which counts as it goes, says of that step.
func TestThePeakOfTheLastStepIsTheEngines(t *testing.T) {
	for name, run := range map[string]engineRun{"steady": {}, "checkpoints come and go": {changes: checkpoints}} {
		tr := run.trace(t)
		x := analysis.NewIndex(tr, &tr.Devices[0])
		got, want := analysis.LastStepOf(x), tr.Steps[len(tr.Steps)-1]
		if got == nil || got.Number != want.Number {
			t.Fatalf("%s: the last step is %+v, want number %d", name, got, want.Number)
		}
		sums := x.CategoriesAt(got.Peak)
		for _, a := range want.AtPeak {
			if c, _ := trace.NamedCategory(a.Name); sums[c] != a.Bytes {
				t.Errorf("%s: %d bytes of %s at the peak, want %d", name, sums[c], a.Name, a.Bytes)
			}
		}
	}
}
