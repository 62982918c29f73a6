// Package traintest makes traces of short training runs with a known use of
// memory: runs with a mistake, and runs that only look as if they had one. It is
// for tests of code that finds mistakes; no program imports it.
package traintest

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/trace"
)

// Run is a training run, with known facts about it.
type Run struct {
	// About says in a few words what happens in it.
	About string
	// Leaks says what is leaked, by the tags of the tensors; nil is nothing.
	Leaks *Tensors
	// Unreachable says that the program cannot reach the leaked tensors any more.
	Unreachable bool

	length  func(step int) int
	changes map[int]string // of settings, key=value, before a step
	plant   train.Leak
	// during is called before every step, with the run; may be nil.
	during func(r *running, step int)
}

// Tensors are all tensors of one kind.
type Tensors struct {
	Category, Layer, Role string
	Bytes                 int64 // requested, held of them when the run ends
}

// Steps is how many steps a run takes.
const Steps = 40

const (
	batch    = 2
	window   = 64 // most tokens in a sample
	usual    = 32 // tokens in a sample
	capacity = 64 << 20
)

// model is small, so that a step takes about a millisecond.
var model = nn.GPTConfig{Layers: 2, Dim: 16, Heads: 2, Context: window, Vocab: 256, Bias: true}

// running is a run under way.
type running struct {
	t       testing.TB
	device  *tensor.Device
	trainer *train.Trainer
	batches *lengths
	kept    map[int]*tensor.Tensor // by the run's own mistakes and habits
	lost    lostTensors
}

// Trace trains, and returns the trace that a viewer has if it watched from the
// first step on.
func (r Run) Trace(t testing.TB) *trace.Trace {
	t.Helper()
	c, err := cpu.Open(cpu.Options{Capacity: capacity})
	fatal.If(t, err)
	defer c.Close() //nolint:errcheck // the memory of a test
	a, err := alloc.New(c, alloc.Options{Name: c.Name(), Stacks: alloc.StacksAlloc})
	fatal.If(t, err)
	run := &running{t: t, kept: make(map[int]*tensor.Tensor), batches: newLengths(t, r.length)}
	run.device = tensor.NewDevice(c.Name(), a, c, tensor.Options{})
	run.device.OnLeak(func(l tensor.Leak) {
		a.Lost(l.Allocation)
		run.lost.add(l)
	})
	m, err := nn.Build(run.device, device.Float32, 1, func(b nn.Builder) *nn.GPT { return nn.NewGPT(b, model) })
	fatal.If(t, err)
	defer nn.Close(m)
	run.trainer, err = train.New(train.Config{
		Device: run.device, Model: m, Batches: run.batches, Spec: run.batches.spec(), Batch: batch, Seed: 1,
		Settings: train.DefaultSettings(),
	})
	fatal.If(t, err)
	defer run.close()
	run.trainer.Plant(r.plant)
	return run.record(r)
}

// record runs the steps and returns what happened in them.
func (run *running) record(r Run) *trace.Trace {
	run.t.Helper()
	a, events := run.device.Memory(), &log{}
	a.Observe(events)
	base := a.State(nil)
	d := trace.Device{ID: a.Device(), Base: &base}
	tr := &trace.Trace{
		Info:     trace.Info{Kind: "recording", Container: "mtr", PickleProtocol: -1, Writer: "memtop's engine", Path: r.About},
		Settings: a.Settings(), Live: &trace.Live{Note: "the run has ended", Options: run.trainer.Options()},
	}
	for step := 1; step <= Steps; step++ {
		if r.during != nil {
			r.during(run, step)
		}
		if key, value, some := strings.Cut(r.changes[step], "="); some {
			fatal.If(run.t, run.trainer.Change(key, value))
		}
		e, err := run.trainer.Step(run.t.Context())
		fatal.If(run.t, err)
		tr.Steps = append(tr.Steps, run.trainer.Report(&e))
		if r.Unreachable {
			run.collect(step)
		}
	}
	a.Observe(nil)
	d.Events, d.Final = events.log.Events(), a.State(nil)
	tables := a.Names().Tables()
	tr.Tables, tr.Devices = &tables, []trace.Device{d}
	return tr
}

// collect waits until the garbage collector has found all that was lost.
func (run *running) collect(n int) {
	run.t.Helper()
	for deadline := time.Now().Add(time.Minute); run.lost.count() < n; {
		if time.Now().After(deadline) {
			run.t.Fatalf("after %d steps %d tensors are known to be lost", n, run.lost.count())
		}
		runtime.GC()
	}
}

func (run *running) close() {
	for _, x := range run.kept {
		x.Release()
	}
	run.trainer.Close()
}

// keep makes a tensor under a key, if there is none, and keeps it.
func (run *running) keep(key int, layer, role string, elements int) {
	if run.kept[key] == nil {
		tag := tensor.Tag{Category: trace.Workspace, Layer: layer, Role: role}
		run.kept[key] = tensor.Full(run.device, tensor.Shape{elements}, device.Float32, 1, tag)
	}
}

// log collects events.
type log struct{ log trace.EventLog }

func (l *log) Record(_ int, e trace.Event) { l.log.Append(e) }

// lostTensors collects the tensors that the runtime reports lost.
type lostTensors struct {
	mu   sync.Mutex
	list []tensor.Leak
}

func (l *lostTensors) add(leak tensor.Leak) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, leak)
}

func (l *lostTensors) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.list)
}
