package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// attached measures the cost of a probe, and of a viewer attached to it, for a
// training run.
//
// It trains the model of memtop demo in this process and switches between two
// ways of running it every few steps, in the order A B B A, so that other load on
// the machine affects both equally. Each pair of stretches gives one difference.
// The result is the trimmed mean of the differences, without the largest tenth
// and the smallest tenth, with a 95 % interval from resampling. It compares both
// the time of steps and the processor time of the whole process. The processor
// time includes work beside the steps, and excludes other programs.
//
// The cost of a probe and of a black box is measured on a device that computes
// nothing. There it is a large part of a step, so the result is exact even if
// other programs run.
func attached(ctx context.Context, o *options) error {
	j, err := newJob(ctx, false, 0)
	if err != nil {
		return err
	}
	defer j.close()
	step, err := j.warm(ctx)
	if err != nil {
		return err
	}
	t := newTable(os.Stdout, fmt.Sprintf("%d pairs of %d steps", o.runs, o.steps), "mean", "95% from", "to", "wanted")
	questions := []struct {
		name string
		ask  func() error
	}{
		{"events", func() error { return eventsCost(ctx, o, t, step) }},
		{"box", func() error { return boxCost(ctx, o, t, step) }},
		{"probe", func() error { return j.ask(ctx, o, t, "a probe", 0.2, j.observe) }},
		{"viewer", func() error { return j.askViewer(ctx, o, t) }},
	}
	for _, q := range questions {
		if o.wants(q.name) {
			if err := q.ask(); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
		}
	}
	return nil
}

// eventsCost measures the time that a probe without a viewer adds to the steps of
// a job that computes nothing. It adds the same time to any job that allocates as
// often.
func eventsCost(ctx context.Context, o *options, t *table, step time.Duration) error {
	j, err := newJob(ctx, true, 0)
	if err != nil {
		return err
	}
	defer j.close()
	if _, err := j.warm(ctx); err != nil {
		return err
	}
	with, without, err := alternate(o, func(on bool) (stretch, error) {
		j.observe(on)
		return j.stretch(ctx, o)
	})
	t.cost(o, "a probe without a viewer", step, 0.2, with, without, func(s stretch) float64 { return s.wall })
	return err
}

// boxCost measures the processor time that a black box adds to the steps of a job
// that computes nothing: for storing the events, and for the states that the
// box's goroutine writes when half of a ring is full. The box's writes ten times
// a second are a small part of such quick steps; BenchmarkBoxUpdate of package
// probe measures them.
func boxCost(ctx context.Context, o *options, t *table, step time.Duration) error {
	boxed, err := newJob(ctx, true, 0)
	if err != nil {
		return err
	}
	defer boxed.close()
	if path, err := boxed.probe.BlackBox(); path == "" {
		return errors.Join(err, errors.New("there is no black box to measure: MEMTOP_BLACK_BOX may say off"))
	}
	unboxed, err := newJob(ctx, true, -1)
	if err != nil {
		return err
	}
	defer unboxed.close()
	with, without, err := alternate(o, func(on bool) (stretch, error) {
		if on {
			return boxed.stretch(ctx, o)
		}
		return unboxed.stretch(ctx, o)
	})
	t.cost(o, "a black box, processor time", step, 0.1, with, without, func(s stretch) float64 { return s.processor })
	return err
}

// askViewer compares a job that a viewer reads ten times a second with a job
// without a viewer.
func (j *job) askViewer(ctx context.Context, o *options, t *table) error {
	j.observe(true)
	look, end, err := ownViewer(ctx, j.probe.Path())
	if err != nil {
		return err
	}
	defer end()
	var failed error
	err = j.ask(ctx, o, t, "a viewer at 10 Hz", 1, func(on bool) { failed = errors.Join(failed, look(on)) })
	return errors.Join(err, failed)
}

// ask adds rows with the differences between the two ways.
func (j *job) ask(ctx context.Context, o *options, t *table, name string, limit float64, set func(on bool)) error {
	with, without, err := alternate(o, func(on bool) (stretch, error) {
		set(on)
		return j.stretch(ctx, o)
	})
	if err != nil {
		return err
	}
	var wall, processor []float64
	for i := range with {
		wall = append(wall, 100*(with[i].wall/without[i].wall-1))
		processor = append(processor, 100*(with[i].processor/without[i].processor-1))
	}
	plain := median(each(without, func(s stretch) float64 { return s.wall })) / float64(o.steps)
	t.estimated(fmt.Sprintf("%s, of a step of %.2f ms", name, 1e3*plain), "%", wall, limit)
	t.estimated("  of its processor time", "%", processor, 0)
	return nil
}

// alternate takes stretches of steps both ways in turns.
func alternate(o *options, take func(on bool) (stretch, error)) (with, without []stretch, err error) {
	for i := range 2 * o.runs {
		on := i%4 == 1 || i%4 == 2
		s, err := take(on)
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

// cost adds rows with the cost that one way adds to a step, and its fraction of a
// step that computes.
func (t *table) cost(o *options, name string, step time.Duration, limit float64, with, without []stretch, of func(stretch) float64) {
	var added, part []float64
	for i := range with {
		took := (of(with[i]) - of(without[i])) / float64(o.steps)
		added, part = append(added, 1e6*took), append(part, 100*took/step.Seconds())
	}
	if added != nil {
		t.estimated(name, "µs", added, 0)
		t.estimated(fmt.Sprintf("  of a step that computes, in %.1f ms", 1e3*step.Seconds()), "%", part, limit)
	}
}

// estimated adds a row with the mean of differences, and says whether it is
// within the goal.
func (t *table) estimated(name, unit string, differences []float64, limit float64) {
	mean, low, high := estimate(differences)
	verdict := ""
	switch {
	case limit == 0:
	case high <= limit:
		verdict = fmt.Sprintf("at most %g %%: holds", limit)
	case low > limit:
		verdict = fmt.Sprintf("at most %g %%: does not hold", limit)
	default:
		verdict = fmt.Sprintf("at most %g %%: not decided, take more -runs or a quieter machine", limit)
	}
	cell := func(x float64) string { return fmt.Sprintf("%+.3f %s", x, unit) }
	t.row(name, cell(mean), cell(low), cell(high), verdict)
}
