package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// boxLimit is how much of a step its black box may cost, in percent.
const boxLimit = 0.1

// boxCost measures what a black box adds to the steps of a job that computes nothing, in
// processor time: the stores of the events, and the states that the box's goroutine
// writes when half of a ring is full. What it writes ten times a second is little of so
// quick steps; BenchmarkBoxUpdate of package probe has it.
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
		taken, err := j.stretch(ctx, o)
		if err != nil {
			return err
		}
		if i%2 == 0 {
			added = append(added, 0)
		}
		added[len(added)-1] += sign * 1e6 * taken.processor / float64(o.steps)
	}
	mean, low, high := estimate(added)
	part := 100 / (1e6 * step.Seconds())
	fmt.Printf("box: what a black box adds to a step in processor time\n")
	fmt.Printf("  %.1f µs, 95 times in 100 between %.1f µs and %.1f µs\n", mean, low, high)
	fmt.Printf("  of a step that computes, in %.1f ms, it is %.3f %%, between %.3f %% and %.3f %%; at most %g %% is wanted\n",
		1e3*step.Seconds(), part*mean, part*low, part*high, boxLimit)
	return nil
}

// memoryFolder is where folders in memory are made, "" for where all others are.
func memoryFolder() string {
	const folder = "/dev/shm"
	if _, err := os.Stat(folder); err != nil {
		return ""
	}
	return folder
}
