// Command benchattach measures what a probe, and a viewer attached to it, cost a
// training run. `make bench-attach` runs it.
//
// It trains the model of memtop demo in this process and switches between two
// ways of running it every few steps, in the order A B B A, so that whatever
// else the machine does falls on both alike. Each pair of stretches gives one
// difference; the answer is the mean of the differences without the tenth that
// is largest and the tenth that is smallest, with the interval that the same
// mean of resampled differences falls into 95 times in 100. Both the time that
// steps took and the processor time of the whole process are compared: the
// second notices what goes on beside the steps, and not what other programs do.
//
// First of all it takes the same steps on a device that computes nothing. What a
// probe adds to those is much of what they take, so it is known well even where
// other programs run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.pairs, "pairs", 100, "pairs of stretches for each question")
	flag.IntVar(&o.steps, "steps", 16, "steps of a stretch that are counted")
	flag.IntVar(&o.settle, "settle", 2, "steps before them that are not")
	flag.StringVar(&o.only, "only", "", "ask one question only: events, box, probe or viewer")
	flag.StringVar(&o.with, "with", "", "a `COMMAND` to be the viewer, with {} where the socket goes, such as: script -qec 'memtop attach {}' /dev/null")
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
	only, view, with     string
}

// question is two ways to run a job that are compared.
type question struct {
	name, about string
	limit       float64 // of the difference, in percent of a step
	set         func(on bool) error
}

// measure asks the questions of a job that computes nothing, where what a probe
// adds is plain to see, and of one that does.
func measure(ctx context.Context, o *options) error {
	j, err := newJob(ctx, false, 0)
	if err != nil {
		return err
	}
	defer j.close()
	step, err := j.warm(ctx)
	if err != nil {
		return err
	}
	if o.wants("events") {
		if err := events(ctx, o, step); err != nil {
			return err
		}
	}
	if o.wants("box") {
		if err := boxCost(ctx, o, step); err != nil {
			return err
		}
	}
	if o.wants("probe") {
		q := question{"probe", "a probe without a viewer, against none", 0.2, j.observe}
		if err := j.ask(ctx, o, q); err != nil {
			return err
		}
	}
	if !o.wants("viewer") {
		return nil
	}
	j.probed()
	var v interface {
		watch(on bool) error
		close()
	}
	if o.with != "" {
		v = newCommand(o.with, j.probe.Path())
	} else if v, err = newViewer(ctx, j.probe.Path()); err != nil {
		return err
	}
	defer v.close()
	return j.ask(ctx, o, question{"viewer", "a viewer at 10 Hz, against a probe without one", 1, v.watch})
}

func (o *options) wants(question string) bool { return o.only == "" || o.only == question }

// events measures what a probe adds to the steps of a job that computes nothing,
// which is what it adds to any that allocates as often.
func events(ctx context.Context, o *options, step time.Duration) error {
	j, err := newJob(ctx, true, 0)
	if err != nil {
		return err
	}
	defer j.close()
	if _, err := j.warm(ctx); err != nil {
		return err
	}
	with, without, err := j.alternate(ctx, o, j.observe)
	if err != nil {
		return err
	}
	var added []float64
	for i := range with {
		added = append(added, 1e6*(with[i].wall-without[i].wall)/float64(o.steps))
	}
	mean, low, high := estimate(added)
	part := 100 / (1e6 * step.Seconds())
	fmt.Printf("events: what a probe without a viewer adds to a step that computes nothing\n")
	fmt.Printf("  %.1f µs, 95 times in 100 between %.1f µs and %.1f µs\n", mean, low, high)
	fmt.Printf("  of a step that computes, in %.1f ms, it is %.3f %%, between %.3f %% and %.3f %%\n",
		1e3*step.Seconds(), part*mean, part*low, part*high)
	return nil
}

// alternate takes stretches of steps both ways in turns.
func (j *job) alternate(ctx context.Context, o *options, set func(on bool) error) (with, without []stretch, err error) {
	for i := range 2 * o.pairs {
		on := i%4 == 1 || i%4 == 2
		if err := set(on); err != nil {
			return nil, nil, err
		}
		s, err := j.stretch(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		if on {
			with = append(with, s)
		} else {
			without = append(without, s)
		}
	}
	return with, without, nil
}

// ask prints by how much the two ways differ, in percent.
func (j *job) ask(ctx context.Context, o *options, q question) error {
	with, without, err := j.alternate(ctx, o, q.set)
	if err != nil {
		return err
	}
	var wall, processor []float64
	var plain float64
	for i := range with {
		wall = append(wall, 100*(with[i].wall/without[i].wall-1))
		processor = append(processor, 100*(with[i].processor/without[i].processor-1))
		plain += without[i].wall / float64(o.steps*o.pairs)
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
