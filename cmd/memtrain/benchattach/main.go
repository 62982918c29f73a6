// Command benchattach measures what it costs a training run that it can be
// attached to, and that somebody is. `make bench-attach` runs it.
//
// It trains the model of memtop demo in this process and switches between two
// ways of running it every few steps, in the order A B B A, so that whatever
// else the machine does falls on both alike. Each pair of stretches gives one
// difference; the answer is the mean of the differences without the tenth that
// is largest and the tenth that is smallest, with the interval that the same
// mean of resampled differences falls into 95 times in 100. Both the time that
// steps took and the processor time of the whole process are compared: the
// second notices what goes on beside the steps, and not what other programs do.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	var o options
	flag.IntVar(&o.pairs, "pairs", 100, "pairs of stretches for each question")
	flag.IntVar(&o.steps, "steps", 16, "steps of a stretch that are counted")
	flag.IntVar(&o.settle, "settle", 2, "steps before them that are not")
	flag.StringVar(&o.only, "only", "", "ask one question only: probe or viewer")
	flag.StringVar(&o.view, "view", "", "be the viewer of a `SOCKET`; the measurement starts itself so")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := measure
	if o.view != "" {
		run = view
	}
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "benchattach:", err)
		os.Exit(1)
	}
}

type options struct {
	pairs, steps, settle int
	only, view           string
}

// question is two ways to run a job that are compared.
type question struct {
	name, about string
	limit       float64 // of the difference, in percent of a step
	set         func(on bool) error
}

// measure asks the questions of a job.
func measure(ctx context.Context, o *options) error {
	j, err := newJob(ctx)
	if err != nil {
		return err
	}
	defer j.close()
	v, err := newViewer(ctx, j.probe.Path())
	if err != nil {
		return err
	}
	defer v.close()
	if err := j.warm(ctx); err != nil {
		return err
	}
	for _, q := range []question{
		{"probe", "a probe that nobody looks at, against none", 0.2, j.observe},
		{"viewer", "a viewer at 10 Hz, against a probe that nobody looks at", 1, v.watch},
	} {
		if o.only != "" && o.only != q.name {
			continue
		}
		if err := j.ask(ctx, o, q); err != nil {
			return err
		}
		j.probed() // the second question is about a run that has a probe
	}
	return nil
}

// ask alternates between the two ways and prints the answer.
func (j *job) ask(ctx context.Context, o *options, q question) error {
	var wall, processor []float64
	var plain float64
	for i := range o.pairs {
		var with, without stretch
		for _, on := range [2]bool{i%2 == 1, i%2 == 0} {
			if err := q.set(on); err != nil {
				return err
			}
			s, err := j.stretch(ctx, o)
			if err != nil {
				return err
			}
			if on {
				with = s
			} else {
				without = s
			}
		}
		wall = append(wall, 100*(with.wall/without.wall-1))
		processor = append(processor, 100*(with.processor/without.processor-1))
		plain += without.wall / float64(o.steps*o.pairs)
	}
	fmt.Printf("%s: %s\n", q.name, q.about)
	fmt.Printf("  %d pairs of %d steps, a step takes %.2f ms\n", o.pairs, o.steps, 1e3*plain)
	report("step time", wall, q.limit)
	report("processor", processor, 0)
	return nil
}

func report(name string, differences []float64, limit float64) {
	mean, low, high := estimate(differences)
	fmt.Printf("  %-10s %+.3f %%, 95 times in 100 between %+.3f %% and %+.3f %%", name, mean, low, high)
	switch {
	case limit == 0:
	case high <= limit:
		fmt.Printf("; at most %g %% is wanted: holds", limit)
	case low > limit:
		fmt.Printf("; at most %g %% is wanted: does not hold", limit)
	default:
		fmt.Printf("; at most %g %% is wanted: not decided, take more -pairs or a quieter machine", limit)
	}
	fmt.Println()
}
