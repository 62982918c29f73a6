package main

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/probe"
	probed "github.com/memtop/memtop/probe/engine"
)

// The run of memtop demo.
const (
	demoBatch  = 8
	demoLength = 128
	warmup     = 20 // steps before anything is measured
)

// job is a training run with a probe that can be taken away.
type job struct {
	memory  *alloc.Allocator
	device  *tensor.Device
	trainer *train.Trainer
	probe   *probe.Probe
	tells   bool // steps are told to the probe
	closers []func()
}

// newJob makes a job on cpu:0, or on a device that computes nothing. There a step
// consists only of the work around the computations, which is the work that a
// probe adds to. box is the size of the black box, as in probe.Options.
func newJob(ctx context.Context, idle bool, box int) (_ *job, err error) {
	j := &job{}
	defer func() {
		if err != nil {
			j.close()
		}
	}()
	c, err := cpu.Open(cpu.Options{Capacity: capacity})
	if err != nil {
		return nil, err
	}
	j.onClose(func() { _ = c.Close() })
	driver, backend := alloc.Driver(c), device.Backend(c)
	if idle {
		driver, backend = dry.NewMemory(capacity), dry.Backend{}
	}
	j.memory, err = alloc.New(driver, alloc.Options{Name: c.Name()})
	if err != nil {
		return nil, err
	}
	j.device = tensor.NewDevice(c.Name(), j.memory, backend, tensor.Options{})
	model, err := nn.Build(j.device, device.Float32, 1, func(b nn.Builder) *nn.GPT {
		return nn.NewGPT(b, nn.GPTConfig{Layers: 4, Dim: 128, Heads: 4, Context: demoLength, Vocab: 256, Bias: true})
	})
	if err != nil {
		return nil, err
	}
	j.onClose(func() { nn.Close(model) })
	if err := j.openTrainer(model); err != nil {
		return nil, err
	}
	return j, j.listen(ctx, box)
}

func (j *job) openTrainer(model nn.Module) error {
	set, err := data.NewWindows(data.Corpus(), demoLength)
	if err != nil {
		return err
	}
	loader, err := data.NewLoader(set, data.LoaderOptions{Batch: demoBatch, Seed: 1, Workers: 1})
	if err != nil {
		return err
	}
	j.onClose(loader.Close)
	j.trainer, err = train.New(train.Config{
		Device: j.device, Model: model, Batches: loader, Spec: set.Spec(), Batch: demoBatch, Seed: 1, Settings: train.DefaultSettings(),
	})
	if err == nil {
		j.onClose(j.trainer.Close)
	}
	return err
}

// listen makes the probe, in a folder of its own.
func (j *job) listen(ctx context.Context, box int) error {
	dir, err := os.MkdirTemp(memoryFolder(), "bench")
	if err != nil {
		return err
	}
	j.onClose(func() { _ = os.RemoveAll(dir) })
	j.probe, err = probe.Listen(ctx, probe.Options{Dir: dir, Box: box, BoxDir: dir, Writer: "memtop's engine"}, probed.Source(j.memory))
	if err != nil {
		return err
	}
	j.onClose(func() { _ = j.probe.Close() })
	j.observe(true)
	return nil
}

func (j *job) onClose(f func()) { j.closers = append(j.closers, f) }

func (j *job) close() {
	for i := len(j.closers) - 1; i >= 0; i-- {
		j.closers[i]()
	}
}

// observe switches the run between memtrain with a probe and memtrain without
// one.
func (j *job) observe(on bool) {
	if j.tells = on; on {
		j.memory.Observe(j.probe)
		probed.Watch(j.device)
		return
	}
	j.memory.Observe(nil)
	j.memory.SetStacks(false)
	j.device.OnLeak(nil)
}

// step takes one step as memtrain does.
func (j *job) step(ctx context.Context) error {
	e, err := j.trainer.Step(ctx)
	if err == nil && j.tells {
		j.probe.Step(j.trainer.Report(&e))
	}
	return err
}

// warm takes the first steps, and returns how long the quickest took.
func (j *job) warm(ctx context.Context) (time.Duration, error) {
	quickest := time.Duration(math.MaxInt64)
	for range warmup {
		start := time.Now()
		if err := j.step(ctx); err != nil {
			return 0, err
		}
		quickest = min(quickest, time.Since(start))
	}
	return quickest, nil
}

// stretch is the time of some steps, in seconds.
type stretch struct{ wall, processor float64 }

// uncountedSteps are the steps before a stretch that are not counted.
const uncountedSteps = 2

// stretch takes steps. It first collects the garbage of earlier steps.
func (j *job) stretch(ctx context.Context, o *options) (s stretch, err error) {
	for range uncountedSteps {
		err = errors.Join(err, j.step(ctx))
	}
	runtime.GC()
	began, used := time.Now(), processorTime(os.Getpid())
	for range o.steps {
		err = errors.Join(err, j.step(ctx))
	}
	return stretch{time.Since(began).Seconds(), (processorTime(os.Getpid()) - used).Seconds()}, err
}

// memoryFolder returns the parent of folders in memory, "" for the default
// parent.
func memoryFolder() string {
	const folder = "/dev/shm"
	if _, err := os.Stat(folder); err != nil {
		return ""
	}
	return folder
}
