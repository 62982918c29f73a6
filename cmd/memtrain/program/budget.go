package program

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/trace"
)

// fitBudget changes the settings of the first step so that the run stays within
// its memory budget, if it has one.
func (s *session) fitBudget(ctx context.Context) error {
	plan, err := s.plan().Budgeted(ctx)
	var small *train.TooSmallError
	switch {
	case errors.As(err, &small):
		return machineError{"--memory-budget: " + small.Error(), "give that much, or a smaller model"}
	case err != nil:
		return err
	}
	if s.settings = plan.Settings; s.settings.Budget > 0 {
		s.memory.SetLimit(s.settings.Budget)
	}
	return nil
}

// adjusted reports a change that the budget needed. All processes make the same
// change, and the first one reports it.
func (s *session) adjusted(a train.Adjustment) {
	if s.rank() > 0 {
		return
	}
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
