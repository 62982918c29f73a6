package program

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"memtop/cmd/command"
	"memtop/engine/train"
	"memtop/snapshots/trace"
)

// fitBudget changes the settings of the first step so that the run stays within
// its memory budget, if it has one.
func (s *session) fitBudget(ctx context.Context) error {
	if s.wanted = s.settings; s.budget == 0 {
		return nil
	}
	plan := s.plan()
	needs, fits, err := plan.Fits(ctx)
	if err != nil || fits {
		return err
	}
	fit, err := plan.Within(ctx, int64(s.budget))
	var small *train.TooSmallError
	if errors.As(err, &small) {
		return machineError{"--memory-budget: " + small.Error(), "give that much, or a smaller model"}
	}
	if err != nil {
		return err
	}
	for _, c := range fit.Changes {
		if s.settings, err = s.settings.With(c.Key, c.Value); err != nil {
			return err
		}
	}
	s.adjusted(train.Adjustment{Step: 1, Changes: fit.Changes, Why: train.Exceeds(needs, int64(s.budget))})
	return nil
}

// keepBudget has the run stay within its memory budget, if it has one.
func (s *session) keepBudget() {
	if s.budget != 0 {
		s.budgeted = train.NewBudget(s.trainer, int64(s.budget), s.wanted, s.adjusted)
	}
}

// queue begins the next step.
func (s *session) queue(ctx context.Context) (*train.Queued, error) {
	if s.budgeted != nil {
		return s.budgeted.Queue(ctx)
	}
	return s.trainer.Queue(ctx)
}

// adjusted says what was changed for the sake of the budget.
func (s *session) adjusted(a train.Adjustment) {
	fmt.Fprintln(s.stderr, "memtrain: "+command.Line(fmt.Sprintf("step %d: %s for the memory budget", a.Step, pairs(a.Changes)), a.Why))
}

// pairs writes changes as "key=value key=value".
func pairs(changes []trace.Value) string {
	var list []string
	for _, c := range changes {
		list = append(list, c.Key+"="+c.Value)
	}
	return strings.Join(list, " ")
}
