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
	"github.com/memtop/memtop/probe/engine"
)

// The run of memtop demo.
const (
	capacity = 2 << 30
	batch    = 8
	length   = 128
	warmup   = 20 // steps before anything is measured
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

// newJob makes a job on cpu:0, or on a device that computes nothing: its steps
// are made of what surrounds the computations, and so of what a probe adds to. box is
// the size of its black box, as probe.Options have it.
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
		return nn.NewGPT(b, nn.GPTConfig{Layers: 4, Dim: 128, Heads: 4, Context: length, Vocab: 256, Bias: true})
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
	set, err := data.NewWindows(data.Corpus(), length)
	if err != nil {
		return err
	}
	loader, err := data.NewLoader(set, data.LoaderOptions{Batch: batch, Seed: 1, Workers: 1})
	if err != nil {
		return err
	}
	j.onClose(loader.Close)
	j.trainer, err = train.New(train.Config{
		Device: j.device, Model: model, Batches: loader, Spec: set.Spec(), Batch: batch, Seed: 1, Settings: train.DefaultSettings(),
	})
	if err == nil {
		j.onClose(j.trainer.Close)
	}
	return err
}

// listen makes the probe, in a folder of its own.
func (j *job) listen(ctx context.Context, box int) error {
	dir, err := os.MkdirTemp(memoryFolder(), "benchattach")
	if err != nil {
		return err
	}
	j.onClose(func() { _ = os.RemoveAll(dir) })
	j.probe, err = probe.Listen(ctx, probe.Options{Dir: dir, Box: box, BoxDir: dir, Writer: "memtop's engine"}, engine.Source(j.memory))
	if err != nil {
		return err
	}
	j.onClose(func() { _ = j.probe.Close() })
	j.probed()
	return nil
}

func (j *job) onClose(f func()) { j.closers = append(j.closers, f) }

func (j *job) close() {
	for i := len(j.closers) - 1; i >= 0; i-- {
		j.closers[i]()
	}
}

// observe makes the run as memtrain's with a probe, or without.
func (j *job) observe(on bool) error {
	if on {
		j.probed()
		return nil
	}
	j.memory.Observe(nil)
	j.memory.SetStacks(alloc.StacksNone)
	j.device.OnLeak(nil)
	j.tells = false
	return nil
}

func (j *job) probed() {
	j.memory.Observe(j.probe)
	engine.Watch(j.device)
	j.tells = true
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

// stretch is what some steps took, in seconds.
type stretch struct{ wall, processor float64 }

// stretch takes steps. What was thrown away before it is collected before it.
func (j *job) stretch(ctx context.Context, o *options) (s stretch, err error) {
	for range o.settle {
		err = errors.Join(err, j.step(ctx))
	}
	runtime.GC()
	start, used := time.Now(), processorTime()
	for range o.steps {
		err = errors.Join(err, j.step(ctx))
	}
	return stretch{time.Since(start).Seconds(), (processorTime() - used).Seconds()}, err
}
