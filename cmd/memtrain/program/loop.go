package program

import (
	"context"
	"errors"
	"fmt"

	"memtop/engine/alloc"
	"memtop/engine/train"
)

// loop trains until the last step, an interrupt or a failure.
func (s *session) loop(ctx context.Context, r *reporter) error {
	asked, stop := snapshotSignal()
	defer stop()
	var settled *train.Settings // of the last step; nil before the first
	for s.steps == 0 || s.trainer.Steps() < s.steps {
		if ctx.Err() != nil {
			break
		}
		settings := s.trainer.Settings()
		e, err := s.trainer.Step(ctx)
		if s.takeBack(err, settled) {
			continue
		}
		if err != nil {
			return errors.Join(err, r.end())
		}
		settled = &settings
		s.tell(&e)
		if err := r.step(&e); err != nil {
			return fmt.Errorf("writing the progress: %w", err)
		}
		if s.saveEvery > 0 && e.Step%s.saveEvery == 0 {
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
	return errors.Join(r.end(), ctx.Err())
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
