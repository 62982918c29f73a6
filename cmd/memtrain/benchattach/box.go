package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
)

// boxLimit is how much of a step its black box may cost, in percent.
const boxLimit = 0.1

// boxCost measures what a black box costs: the processor time of a job that computes
// nothing and takes a step as often as one that does, with a box and without. All that
// the box does is in it, on whatever core: the stores of the events, and the goroutine
// that writes states, names and steps, which works by the clock.
func boxCost(ctx context.Context, o *options, step time.Duration) error {
	with, err := newJob(ctx, true, 0)
	if err != nil {
		return err
	}
	defer with.close()
	if path, err := with.probe.BlackBox(); path == "" {
		return fmt.Errorf("there is no black box to measure: %w", errors.Join(err, errors.New("MEMTOP_BLACK_BOX may say off")))
	}
	without, err := newJob(ctx, true, -1)
	if err != nil {
		return err
	}
	defer without.close()
	var added []float64
	for i := range 2 * o.pairs {
		sign, j := -1.0, without
		if i%4 == 1 || i%4 == 2 {
			sign, j = 1, with
		}
		used, err := j.paced(ctx, o, step)
		if err != nil {
			return err
		}
		if i%2 == 0 {
			added = append(added, 0)
		}
		added[len(added)-1] += sign * 1e6 * used.Seconds() / float64(o.steps)
	}
	mean, low, high := estimate(added)
	part := 100 / (1e6 * step.Seconds())
	fmt.Printf("box: what a black box adds to a step in processor time, a step every %.1f ms\n", 1e3*step.Seconds())
	fmt.Printf("  %.1f µs, 95 times in 100 between %.1f µs and %.1f µs\n", mean, low, high)
	fmt.Printf("  of a step it is %.3f %%, between %.3f %% and %.3f %%; at most %g %% is wanted\n", part*mean, part*low, part*high, boxLimit)
	return nil
}

// paced takes steps, one every so often, and returns the processor time of all.
func (j *job) paced(ctx context.Context, o *options, every time.Duration) (time.Duration, error) {
	var err error
	for range o.settle {
		err = errors.Join(err, j.step(ctx))
	}
	runtime.GC()
	tick := time.NewTicker(every)
	defer tick.Stop()
	used := processorTime()
	for range o.steps {
		<-tick.C
		err = errors.Join(err, j.step(ctx))
	}
	return processorTime() - used, err
}

// memoryFolder is where folders in memory are made, "" for where all others are.
func memoryFolder() string {
	const folder = "/dev/shm"
	if _, err := os.Stat(folder); err != nil {
		return ""
	}
	return folder
}
