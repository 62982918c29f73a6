package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memtop/memtop/cmd/tools/terminal"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/snapshots/trace"
)

// latency measures how long an allocation takes to the screen.
func latency(ctx context.Context, o options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	folder, err := os.MkdirTemp("", "benchlive")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	p := newProgram()
	server, err := probe.Listen(ctx, probe.Options{Path: filepath.Join(folder, "p.sock"), Program: "benchlive"}, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	t, err := terminal.Start(exec.CommandContext(ctx, o.memtop, "attach", server.Path()), 80, 24)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave(ctx, t)) }()
	took, err := await(ctx, t, p, o.samples)
	if err != nil {
		return err
	}
	slices.Sort(took)
	n := len(took)
	fmt.Printf("from an allocation to the screen, %d times: median %d ms, 95%% within %d ms, longest %d ms\n",
		n, took[n/2].Milliseconds(), took[n*95/100].Milliseconds(), took[n-1].Milliseconds())
	return nil
}

// await allocates so many times, at moments that have nothing to do with the
// screen's, and waits for each until it is shown.
func await(ctx context.Context, t *terminal.Terminal, p *program, samples int) ([]time.Duration, error) {
	took := make([]time.Duration, 0, samples)
	for i := range samples + 1 {
		if err := pause(ctx, 150*time.Millisecond+rand.N(200*time.Millisecond)); err != nil {
			return nil, err
		}
		began := time.Now()
		want := fmt.Sprintf("%d.0 MiB", p.allocate())
		err := t.Until(ctx, func(text string) bool {
			_, after, _ := strings.Cut(text, "allocated")
			return strings.HasPrefix(strings.TrimLeft(after, " "), want)
		})
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first waits for memtop to start
			took = append(took, time.Since(began))
		}
	}
	return took, nil
}

// program allocates a block of one MiB after the other.
type program struct {
	mu       sync.Mutex
	in       *trace.Interner
	recorder trace.Recorder
	stack    trace.StackID
	note     trace.NoteID
	blocks   int
}

const (
	base     = 1 << 40
	block    = 1 << 20
	capacity = 512
)

func newProgram() *program {
	p := &program{in: trace.NewInterner()}
	frame := p.in.Frame(trace.Frame{File: p.in.String("latency.go"), Name: p.in.String("main.allocate"), Line: 1})
	p.stack = p.in.Stack([]trace.FrameID{frame})
	p.note = p.in.Note(trace.Note{Category: p.in.String("activation"), Layer: p.in.String("layer")})
	return p
}

// allocate takes a block and returns how many there are then.
func (p *program) allocate() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record(trace.Event{Kind: trace.Alloc, Addr: base + uint64(p.blocks)*block, Size: block, Stack: p.stack})
	p.blocks++
	return p.blocks
}

// part records one of the events of a step: it begins, takes blocks one after the other,
// gives each back by two events, and ends.
func (p *program) part(number int64, at, blocks int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := trace.Event{Kind: trace.Alloc, Size: block, Stack: p.stack, Note: p.note}
	switch at--; {
	case at < 0:
		p.record(trace.Event{Kind: trace.StepBegin, Size: number})
		return
	case at == 3*blocks:
		p.record(trace.Event{Kind: trace.StepEnd, Size: number})
		return
	case at >= blocks:
		e.Kind = trace.FreeRequested + trace.Kind((at-blocks)%2)
		at = (at - blocks) / 2
	}
	e.Addr = base + uint64(p.blocks+at)*block
	p.record(e)
}

// record tells whoever observes; p.mu is held.
func (p *program) record(e trace.Event) {
	if e.Time = time.Now().UnixMicro(); p.recorder != nil {
		p.recorder.Record(0, e)
	}
}

func (p *program) Devices() []int { return []int{0} }

func (p *program) Settings() []trace.Setting { return nil }

func (p *program) Tables() trace.Tables {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in.View()
}

func (p *program) Observe(r trace.Recorder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recorder = r
}

// State returns one segment: the blocks that are taken, and the rest free.
func (p *program) State(_ int, at func()) trace.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	at()
	const given = trace.GaveAddr | trace.GaveSize | trace.GaveState | trace.GaveRequested
	s := trace.Segment{Addr: base, Size: capacity * block, Type: p.in.String("large"), Given: trace.GaveAddr | trace.GaveSize | trace.GaveType}
	for i := range p.blocks {
		s.Blocks = append(s.Blocks, trace.Block{
			Addr: base + uint64(i)*block, Size: block, Requested: block, State: trace.Allocated, Stack: p.stack, Given: given,
		})
	}
	free := base + uint64(p.blocks)*block
	s.Blocks = append(s.Blocks, trace.Block{Addr: free, Size: int64(s.End() - free), Given: given})
	return trace.State{Segments: []trace.Segment{s}}
}
