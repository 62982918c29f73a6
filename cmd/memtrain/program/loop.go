package program

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// loop trains until the last step, an interrupt or a failure. On a device that
// works while the host goes on, a step is reported while the next one runs.
func (s *session) loop(ctx context.Context, r *reporter) error {
	steps, ended := s.ends(ctx)
	asked, stop := snapshotSignal()
	defer stop()
	var settled *train.Settings // of the last step; nil before the first
	var running *queued         // the step that was not waited for; nil for none
	for s.steps == 0 || s.trainer.Steps() < s.steps {
		if ended() {
			break
		}
		q, err := s.trainer.Queue(steps)
		if s.takeBack(err, settled) {
			continue
		}
		if err := errors.Join(s.told(r, running), err); err != nil {
			return errors.Join(err, r.end())
		}
		settled, running = &q.Settings, s.queued(q)
		if q.Ready() {
			if err := s.told(r, running); err != nil {
				return errors.Join(err, r.end())
			}
			running = nil
		}
		if s.saveEvery > 0 && q.Event.Step%s.saveEvery == 0 {
			if err := s.saveRun(); err != nil {
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
	return errors.Join(s.told(r, running), r.end(), s.printTables(r.out), ctx.Err())
}

// queued is a running step, with its report to the probe.
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

// told waits for a queued step, if there is one, and reports it.
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
		s.watchBox()
	}
	return r.step(&e)
}

// finish writes the requested files of a run that ended with err. err is nil, a
// signal, a failure to print progress, or another failure; for that one finish
// keeps the snapshot from the moment of the failure.
func (s *session) finish(err error) error {
	if err != nil && !errors.Is(err, context.Canceled) && !errors.As(err, new(progressError)) {
		return nil
	}
	var failures []error
	if s.save != "" {
		failures = append(failures, s.saveRun())
	}
	return errors.Join(append(failures, s.writeSnapshot())...)
}

// output returns a file that is written anew each time.
func (s *session) output(path string) output.File {
	return output.File{Path: path, Overwrite: true, Inputs: output.Inputs(s.data, s.init)}
}

// saveRun writes the run to the file of --save.
func (s *session) saveRun() error {
	if s.rank() > 0 { // the first process writes for all, and gathers what they have
		return s.trainer.Save(io.Discard, s.program())
	}
	return s.output(s.save).Write(func(w io.Writer) error { return s.trainer.Save(w, s.program()) })
}

// writeSnapshot writes the state of memory to the file of --snapshot.
func (s *session) writeSnapshot() error {
	if s.snapshot == "" {
		return nil
	}
	t := s.memory.Snapshot()
	if err := s.output(s.ofRank(s.snapshot)).Write(func(w io.Writer) error { return pytorch.Write(w, t) }); err != nil {
		return fmt.Errorf("writing the snapshot: %w", err)
	}
	return nil
}

// saveOOM is called when memory has run out.
func (s *session) saveOOM(*alloc.OOMError) (path string, err error) {
	return s.ofRank(s.snapshot), s.writeSnapshot()
}
