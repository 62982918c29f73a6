// Command bench measures the figures that docs/performance.md promises, with the
// real programs. The Makefile's targets for benchmarks, count-launches and soak
// run it, and so does the GPU kit:
//
//	bench open|live|soak|attach|engine|gpu|launches|parallel [FLAGS]
//
// Figures differ between machines, and between day and night on one machine. So
// bench measures all things that it compares in one run and in turns, so that a
// busy machine slows all of them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/choice"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/nn"
)

// bench is a benchmark, with its name on the command line.
type bench struct {
	name     string
	run      func(context.Context, *options) error
	defaults options
}

var benches = []bench{
	{"open", open, options{runs: 5}},
	{"live", live, options{length: 10 * time.Second, only: "pages,latency,steps"}},
	{"soak", soak, options{length: 10 * time.Minute, only: "demo,events,names"}},
	{"attach", attached, options{runs: 100, steps: 16, only: "events,box,probe,viewer"}},
	{"engine", engine, options{device: "cpu:0", steps: 8}},
	{"gpu", gpu, options{device: "cuda:0"}},
	{"launches", launches, options{}},
	{"parallel", parallel, options{runs: 5, steps: 10}},
	// Roles in which the runner starts itself as another process.
	{"program", program, options{}},
	{"viewer", viewer, options{}},
}

// options are the flags of all benchmarks; a benchmark ignores flags that it does
// not read.
type options struct {
	memtop, memtrain string
	runs, steps      int
	length           time.Duration
	only             string
	rest             string // the argument after the flags

	copies                  string // open
	ranks                   int    // live
	device, amp, checkpoint string // engine, launches
	residual                string //
	layers, batch, tokens   int
	ownProducts, library    bool
	rate, blocks, own       int // program
	names                   bool
}

func (o *options) register(f *flag.FlagSet) {
	f.StringVar(&o.memtop, "memtop", "bin/memtop", "the program to measure")
	f.StringVar(&o.memtrain, "memtrain", "bin/memtrain", "the program to train with")
	f.IntVar(&o.runs, "runs", o.runs, "turns; of attach, pairs of stretches for each question")
	f.IntVar(&o.steps, "steps", o.steps, "steps that are counted of a run, or of a stretch")
	f.DurationVar(&o.length, "for", o.length, "how long to measure: a page, or all of a soak")
	f.StringVar(&o.only, "only", o.only, "the parts to measure; live has ranks besides")
	f.StringVar(&o.copies, "copies", "64,256", "open: how many copies of the snapshot a file has")
	f.IntVar(&o.ranks, "ranks", 64, "live, program: how many ranks a job has")
	f.StringVar(&o.device, "device", o.device, "engine, gpu: the device, cpu:0 or cuda:N")
	f.IntVar(&o.layers, "layers", 12, "engine, launches, program: layers of the model")
	f.IntVar(&o.batch, "batch", 4, "engine, launches: samples in a step")
	f.IntVar(&o.tokens, "length", 64, "engine, launches: tokens in a sample")
	f.StringVar(&o.amp, "amp", "off", "engine, launches: mixed precision, "+choice.Or(amp.Modes()))
	f.StringVar(&o.checkpoint, "checkpoint", "none", "engine, launches: what to compute again instead of keeping")
	f.StringVar(&o.residual, "residual", "full", "engine, launches: the type of the residual stream, "+choice.Or(nn.Residuals()))
	f.BoolVar(&o.ownProducts, "own-products", false, "engine: on a GPU, multiply with our kernels even where cuBLASLt is found")
	f.BoolVar(&o.library, "library", false, "engine: fail unless cuBLASLt multiplies")
	f.IntVar(&o.rate, "rate", 9, "program: the steps that it makes a second")
	f.IntVar(&o.blocks, "blocks", 200, "program: the blocks that each of them takes")
	f.IntVar(&o.own, "rank", -1, "program: which rank of a job it is")
	f.BoolVar(&o.names, "names", false, "program: make new stacks and labels without end")
}

// wants reports whether a part is to be measured.
func (o *options) wants(part string) bool { return slices.Contains(strings.Split(o.only, ","), part) }

// noGPU is the exit code if there is no GPU to measure.
const noGPU = 77

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		if cuda.Unavailable(err) {
			os.Exit(noGPU)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	for _, b := range benches {
		if len(args) == 0 || args[0] != b.name {
			continue
		}
		o := b.defaults
		flags := flag.NewFlagSet("bench "+b.name, flag.ExitOnError)
		o.register(flags)
		_ = flags.Parse(args[1:]) // it ends the process instead of failing
		if o.rest = flags.Arg(0); o.runs < 0 || o.steps < 0 {
			return errors.New("nothing is measured less than no times")
		}
		return b.run(ctx, &o)
	}
	return errors.New("want bench open, live, soak, attach, engine, gpu, launches or parallel, and its flags")
}

// table prints rows as they become known, in columns as wide as their headings.
type table struct {
	out    io.Writer
	widths []int
}

const firstColumn = 40

func newTable(out io.Writer, headings ...string) *table {
	t := &table{out: out}
	for _, h := range headings {
		t.widths = append(t.widths, max(9, utf8.RuneCountInString(h)))
	}
	t.widths[0] = -max(firstColumn, t.widths[0])
	t.row(headings...)
	return t
}

func (t *table) row(cells ...string) {
	var line strings.Builder
	for i, cell := range cells {
		fmt.Fprintf(&line, "%*s  ", t.widths[i], cell)
	}
	fmt.Fprintln(t.out, strings.TrimRight(line.String(), " "))
}
