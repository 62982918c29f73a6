package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/probe"
	probed "github.com/memtop/memtop/probe/engine"
	"github.com/memtop/memtop/snapshots/trace"
)

// The properties of made programs.
const (
	settingCount = 18  // as many as memtrain has
	markEvery    = 50  // steps between two changes of a setting
	namesInStep  = 100 // new ones, where a program makes them without end
	stackDepth   = 24  // of a stack that is new
)

// made is a program that trains nothing: a real allocator runs through steps of a
// number of blocks, without a pause.
type made struct {
	*options
	memory   *alloc.Allocator
	probe    *probe.Probe
	tags     []alloc.Tag // of the layers' outputs
	kept     []alloc.Allocation
	named    int64 // new names so far
	mu       sync.Mutex
	settings []trace.Value // amp and checkpoint first, which viewers may change
}

// newMade makes a program that viewers can attach to until ctx is done. Its
// socket is at o.rest, or in the folder that viewers search.
func newMade(ctx context.Context, o *options) (*made, error) {
	p := &made{options: o, settings: []trace.Value{{Key: "amp", Value: "off"}, {Key: "checkpoint", Value: "none"}}}
	for i := len(p.settings); i < settingCount; i++ {
		p.settings = append(p.settings, trace.Value{Key: fmt.Sprintf("setting_%02d", i), Value: "on"})
	}
	var err error
	if p.memory, err = alloc.New(dry.NewMemory(0), alloc.Options{Stacks: true}); err != nil {
		return nil, err
	}
	listen := probe.Options{Path: o.rest, Program: "bench", Control: p}
	if o.own >= 0 {
		listen.Rank = &trace.Rank{Job: "bench", Rank: o.own, World: o.ranks, Local: o.own}
		listen.Gauge = func() []trace.Gauge { return []trace.Gauge{{Total: 1 << 34, Others: 1 << 20}} }
	}
	if p.probe, err = probe.Listen(ctx, listen, probed.Source(p.memory)); err != nil {
		return nil, err
	}
	for i := range 4 * o.layers {
		p.take(4<<20, p.memory.Tag(alloc.Label{Category: trace.Parameter, Layer: layer(i / 4), Role: "weight", DType: "bf16"}))
	}
	for i := range max(1, o.layers) {
		p.tags = append(p.tags, p.memory.Tag(alloc.Label{Category: trace.Activation, Layer: layer(i), Role: "output"}))
	}
	return p, nil
}

func layer(i int) string { return fmt.Sprintf("blocks.%d.mlp", i) }

// program runs a made program as a process of its own. It spreads the work evenly
// over each step.
func program(ctx context.Context, o *options) error {
	p, err := newMade(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = p.probe.Close() }() // it ends with the process
	fmt.Println("listening")
	parts, began, done := 2*o.blocks+2, time.Now(), int64(0)
	for pause(ctx, time.Millisecond) == nil {
		for due := int64(time.Since(began).Seconds() * float64(o.rate*parts)); done < due; done++ {
			p.part(1+done/int64(parts), int(done%int64(parts)))
		}
	}
	return nil
}

// part does a part of a step: it begins the step, takes blocks one after the
// other, gives them back from the last to the first, and ends the step. In a step
// of many layers it also sets the marks of a training run.
func (p *made) part(number int64, at int) {
	many := p.layers > 1
	switch {
	case at == 0:
		p.memory.ResetPeak()
		p.memory.Mark(trace.StepBegin, number, "")
		if many && number%markEvery == 0 {
			p.memory.Mark(trace.SettingChanged, number, fmt.Sprintf("lr=%g", 1/float64(number)))
		}
	case at <= p.blocks:
		p.kept = append(p.kept, p.block(at-1))
	case len(p.kept) > 0:
		last := len(p.kept) - 1
		p.memory.Free(p.kept[last])
		p.kept = p.kept[:last]
	default:
		if many && number%16 == 0 {
			p.memory.Mark(trace.Annotate, number, "evaluation")
		}
		p.memory.Mark(trace.StepEnd, number, "")
		p.probe.Step(p.report(number))
	}
}

// block takes the memory of one tensor.
func (p *made) block(i int) alloc.Allocation {
	size, l := int64(1+i%32)<<12, i*p.layers/p.blocks
	if !p.names || i >= namesInStep {
		return p.take(size, p.tags[l])
	}
	p.named++
	tag := p.memory.Tag(alloc.Label{Category: trace.Activation, Layer: layer(l), Role: "output", Shape: fmt.Sprintf("[%d, 512]", p.named)})
	return left(p, uint64(p.named), stackDepth, size, tag)
}

func (p *made) take(size int64, tag alloc.Tag) alloc.Allocation {
	b, err := p.memory.Alloc(size, 0, tag)
	if err != nil {
		panic(err) // its memory has no end
	}
	return b
}

// left and right call each other according to the bits of path, so that every
// path has a stack of its own.
//
//go:noinline
func left(p *made, path uint64, more int, size int64, tag alloc.Tag) alloc.Allocation {
	return turn(p, path, more, size, tag)
}

//go:noinline
func right(p *made, path uint64, more int, size int64, tag alloc.Tag) alloc.Allocation {
	return turn(p, path, more, size, tag)
}

func turn(p *made, path uint64, more int, size int64, tag alloc.Tag) alloc.Allocation {
	switch {
	case more == 0:
		return p.take(size, tag)
	case path&1 == 0:
		return left(p, path>>1, more-1, size, tag)
	default:
		return right(p, path>>1, more-1, size, tag)
	}
}

// report returns the program's report on a step.
func (p *made) report(number int64) trace.Step {
	m := p.memory.Stats()
	s := trace.Step{
		Number: number, Time: time.Now().UnixMicro(), Duration: int64(1e9) / int64(p.rate) * (900 + number*7919%200) / 1000,
		Tokens: 32, Loss: 1 + math.Exp(-float64(number)/1e5), Settings: p.now(), ProbeNS: 1000 + number%500,
		Allocated: m.AllocatedBytes.All.Current, Reserved: m.ReservedBytes.All.Current,
		PeakAllocated: m.AllocatedBytes.All.Peak, PeakReserved: m.ReservedBytes.All.Peak,
	}
	for _, c := range trace.Categories {
		s.Categories = append(s.Categories, trace.Amount{Name: c.String(), Bytes: m.Category[c].Current})
		s.AtPeak = append(s.AtPeak, trace.Amount{Name: c.String(), Bytes: m.CategoryAtPeak[c] + number%16<<10})
	}
	if p.layers > 1 {
		for l := range p.layers {
			s.Layers = append(s.Layers, trace.Layer{
				Name: layer(l), Class: "MLP", OutputShape: "[8, 512]", DType: "bf16", SavedBytes: number % 1000, ForwardNS: number, Calls: 1,
			})
		}
	}
	return s
}

func (p *made) now() []trace.Value {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings
}

// Options returns the settings that a viewer may change. They have no effect.
func (p *made) Options() []trace.Option {
	now := p.now()
	return []trace.Option{
		{Key: "amp", Value: now[0].Value, About: "mixed precision", Choices: []string{"off", "bf16", "fp16"}},
		{Key: "checkpoint", Value: now[1].Value, About: "checkpointing", Choices: []string{"none", "block"}},
	}
}

// Set changes a setting of the next step.
func (p *made) Set(key, value string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settings = slices.Clone(p.settings)
	for i := range p.settings {
		if p.settings[i].Key == key {
			p.settings[i].Value = value
		}
	}
	return nil
}

// Predict predicts nothing.
func (p *made) Predict(context.Context, []trace.Value) (*trace.Prediction, error) {
	return &trace.Prediction{}, nil
}
