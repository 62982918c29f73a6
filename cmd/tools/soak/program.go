package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// What the made program is like.
const (
	rate       = 50_000 // events a second
	steps      = 10     // a second
	layers     = 48
	blocks     = rate / steps / layers / 3 // of a layer in a step; a block makes three events
	parameters = 4 * layers
	markEvery  = 50  // steps between two changes of a setting
	newNames   = 100 // of each step, where a program makes new ones without end
	depth      = 24  // of a stack that is new
)

// program is a training run that computes nothing: what a real allocator does
// for so many layers, without a pause.
type program struct {
	memory   *alloc.Allocator
	probe    *probe.Probe
	endless  bool // it makes new stacks and labels without end
	labels   []alloc.Tag
	made     int64 // new names so far
	mu       sync.Mutex
	settings []trace.Value
}

// startProgram runs a program until ctx is done, with its socket in folder.
func startProgram(ctx context.Context, folder string, endless bool) (*program, error) {
	p := &program{endless: endless, settings: []trace.Value{{Key: "amp", Value: "off"}, {Key: "checkpoint", Value: "none"}}}
	var err error
	p.memory, err = alloc.New(dry.NewMemory(0), alloc.Options{Stacks: alloc.StacksAlloc})
	if err != nil {
		return nil, err
	}
	p.probe, err = probe.Listen(ctx, probe.Options{
		Path: filepath.Join(folder, fmt.Sprintf("%t.sock", endless)), Program: "soak", Control: p,
	}, p)
	if err != nil {
		return nil, err
	}
	for i := range parameters {
		tag := p.memory.Tag(alloc.Label{Category: trace.Parameter, Layer: layer(i / 4), Role: "weight", DType: "bf16"})
		if _, err := p.memory.Alloc(4<<20, 0, tag); err != nil {
			return nil, err
		}
	}
	for i := range layers {
		p.labels = append(p.labels, p.memory.Tag(alloc.Label{Category: trace.Activation, Layer: layer(i), Role: "output"}))
	}
	go p.run(ctx)
	return p, nil
}

func layer(i int) string { return fmt.Sprintf("blocks.%d.mlp", i) }

// run takes steps at the program's pace. The probe ends with ctx.
func (p *program) run(ctx context.Context) {
	tick := time.NewTicker(time.Second / steps)
	defer tick.Stop()
	for number := int64(1); ; number++ {
		select {
		case <-tick.C:
			p.step(number)
		case <-ctx.Done():
			return
		}
	}
}

func (p *program) step(number int64) {
	began := time.Now()
	p.memory.Mark(trace.StepBegin, number, "")
	if number%markEvery == 0 {
		p.memory.Mark(trace.SettingChanged, number, fmt.Sprintf("lr=%g", rand.Float64()))
	}
	var kept []alloc.Allocation
	for l := range layers {
		for i := range blocks {
			b := p.block(l, i)
			if i%2 == 0 {
				kept = append(kept, b) // until the backward pass
			} else {
				p.memory.Free(b)
			}
		}
	}
	if number%16 == 0 {
		p.memory.Mark(trace.Annotate, number, "evaluation")
	}
	for i := len(kept) - 1; i >= 0; i-- {
		p.memory.Free(kept[i])
	}
	p.memory.Mark(trace.StepEnd, number, "")
	p.probe.Step(p.report(number, time.Since(began)))
}

// block takes the memory of one tensor.
func (p *program) block(l, i int) alloc.Allocation {
	size := int64(1+(l*blocks+i)%32) << 12
	if !p.endless || l*blocks+i >= newNames {
		return p.take(size, p.labels[l])
	}
	p.made++
	tag := p.memory.Tag(alloc.Label{Category: trace.Activation, Layer: layer(l), Role: "output", Shape: fmt.Sprintf("[%d, 512]", p.made)})
	return left(p, uint64(p.made), depth, size, tag)
}

func (p *program) take(size int64, tag alloc.Tag) alloc.Allocation {
	b, err := p.memory.Alloc(size, 0, tag)
	if err != nil {
		panic(err) // its memory has no end
	}
	return b
}

// left and right call each other by the bits of path, so that every path has a
// stack of its own.
//
//go:noinline
func left(p *program, path uint64, more int, size int64, tag alloc.Tag) alloc.Allocation {
	return turn(p, path, more, size, tag)
}

//go:noinline
func right(p *program, path uint64, more int, size int64, tag alloc.Tag) alloc.Allocation {
	return turn(p, path, more, size, tag)
}

func turn(p *program, path uint64, more int, size int64, tag alloc.Tag) alloc.Allocation {
	switch {
	case more == 0:
		return p.take(size, tag)
	case path&1 == 0:
		return left(p, path>>1, more-1, size, tag)
	default:
		return right(p, path>>1, more-1, size, tag)
	}
}

// report is what the program says of a step.
func (p *program) report(number int64, took time.Duration) trace.Step {
	p.mu.Lock()
	settings := p.settings
	p.mu.Unlock()
	s := trace.Step{
		Number: number, Time: time.Now().UnixMicro(), Duration: int64(took), Loss: 1 / float64(number), Settings: settings,
		Allocated: parameters * 4 << 20, Reserved: 1 << 30, PeakAllocated: 1<<29 + number%97<<20, PeakReserved: 1 << 30,
	}
	for c := range trace.CategoryCount {
		amount := trace.Amount{Name: trace.Category(c).String(), Bytes: int64(c) << 20}
		s.Categories, s.AtPeak = append(s.Categories, amount), append(s.AtPeak, amount)
	}
	for l := range layers {
		s.Layers = append(s.Layers, trace.Layer{
			Name: layer(l), Class: "MLP", OutputShape: "[8, 512]", DType: "bf16", SavedBytes: number % 1000, ForwardNS: number, Calls: 1,
		})
	}
	return s
}

// Options are what a viewer may change. Whatever is chosen, nothing is another.
func (p *program) Options() []trace.Option {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []trace.Option{
		{Key: "amp", Value: p.settings[0].Value, About: "mixed precision", Choices: []string{"off", "bf16", "fp16"}},
		{Key: "checkpoint", Value: p.settings[1].Value, About: "checkpointing", Choices: []string{"none", "block"}},
	}
}

// Set changes a setting of the next step.
func (p *program) Set(key, value string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := append([]trace.Value{}, p.settings...)
	for i := range next {
		if next[i].Key == key {
			next[i].Value = value
		}
	}
	p.settings = next
	return nil
}

// Predict says nothing.
func (p *program) Predict(context.Context, []trace.Value) (*trace.Prediction, error) {
	return &trace.Prediction{}, nil
}

// Devices, Tables, State, Settings and Observe show the allocator to a probe.

func (p *program) Devices() []int                     { return []int{0} }
func (p *program) Tables() trace.Tables               { return p.memory.Names().Tables() }
func (p *program) State(_ int, at func()) trace.State { return p.memory.State(at) }
func (p *program) Settings() []trace.Setting          { return p.memory.Settings() }
func (p *program) Observe(r trace.Recorder)           { p.memory.Observe(r) }
