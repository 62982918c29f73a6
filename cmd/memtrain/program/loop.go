package program

import (
	"context"
	"errors"
	"fmt"

	"memtop/engine/alloc"
	"memtop/engine/train"
	"memtop/snapshots/trace"
)

// loop trains until the last step, an interrupt or a failure. On a device that
// works while the host goes on, a step is told of while the next one runs.
func (s *session) loop(ctx context.Context, r *reporter) error {
	asked, stop := snapshotSignal()
	defer stop()
	var settled *train.Settings // of the last step; nil before the first
	var running *queued         // the step that nobody has waited for; nil for none
	for s.steps == 0 || s.trainer.Steps() < s.steps {
		if ctx.Err() != nil {
			break
		}
		settings := s.trainer.Settings()
		q, err := s.trainer.Queue(ctx)
		if s.takeBack(err, settled) {
			continue
		}
		if err := errors.Join(s.told(r, running), err); err != nil {
			return errors.Join(err, r.end())
		}
		settled, running = &settings, s.queued(q)
		if q.Ready() {
			if err := s.told(r, running); err != nil {
				return errors.Join(err, r.end())
			}
			running = nil
		}
		if s.saveEvery > 0 && q.Event.Step%s.saveEvery == 0 {
			if err := s.trainer.Save(s.save, s.program()); err != nil {
				return err
			}
		}
		select {
		case <-asked:
			if err := s.writeSnapshot(); err != nil {
				return err
			}
		default:
		}
	}
	return errors.Join(s.told(r, running), r.end(), ctx.Err())
}

// queued is a step under way, with what the probe is to be told of it.
type queued struct {
	step   *train.Queued
	report trace.Step
}

func (s *session) queued(q *train.Queued) *queued {
	w := &queued{step: q}
	if s.listening != nil {
		w.report = s.trainer.Report(&q.Event)
	}
	return w
}

// told waits for a step, if there is one, and tells of it.
func (s *session) told(r *reporter, w *queued) error {
	if w == nil {
		return nil
	}
	e, err := w.step.Wait()
	if err != nil {
		return err
	}
	if s.listening != nil {
		w.report.Loss, w.report.Skipped, w.report.Duration = e.Loss, e.Skipped, e.Duration.Nanoseconds()
		s.listening.Step(w.report)
	}
	if err := r.step(&e); err != nil {
		return fmt.Errorf("writing the progress: %w", err)
	}
	return nil
}

// finish writes what is wanted of a run that ended with err: nil, an interrupt,
// or a failure, of which the snapshot of the moment it happened is kept.
func (s *session) finish(err error) error {
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil
	}
	var failures []error
	if s.save != "" {
		failures = append(failures, s.trainer.Save(s.save, s.program()))
	}
	if s.snapshot != "" {
		failures = append(failures, s.writeSnapshot())
	}
	return errors.Join(failures...)
}

// writeSnapshot writes the state of memory to the file of --snapshot.
func (s *session) writeSnapshot() error {
	if s.snapshot == "" {
		return nil
	}
	if err := train.WriteFile(s.snapshot, writerOf(s.memory.Snapshot())); err != nil {
		return fmt.Errorf("writing the snapshot: %w", err)
	}
	return nil
}

// saveOOM is called when memory has run out.
func (s *session) saveOOM(*alloc.OOMError) (path string, err error) {
	return s.snapshot, s.writeSnapshot()
}
