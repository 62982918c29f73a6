package program

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/hostmemory"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// plan returns the run as a plan that has not begun, in the available memory.
func (s *session) plan() train.Plan {
	return train.Plan{
		Build: s.build, Spec: s.set.Spec(), Batch: s.share(), Group: s.group, Settings: s.settings, Allocator: s.allocator(),
		Capacity: s.room().Bytes,
	}
}

// room returns the memory that the device can give. cpu:0 uses the host's memory,
// so it gives no more than the host has left.
func (s *session) room() hostmemory.Room {
	free, _ := s.machine.MemInfo()
	room := hostmemory.Room{Bytes: free, Of: s.machine.Name()}
	if _, isCPU := s.machine.(*cpu.Device); isCPU {
		if host := hostmemory.Available(); host.Bytes < free {
			return host
		}
	}
	return room
}

// checkFit rehearses steps to find the memory that a step will need. It fails if
// there is less, unless --force is given; then it returns a warning.
func (s *session) checkFit(ctx context.Context) (needs train.Estimate, warning string, err error) {
	plan := s.plan()
	needs, fits, err := plan.Fits(ctx)
	if err != nil {
		return needs, "", err
	}
	if fits {
		warning, err = s.checkHost(&needs.Memory)
		return needs, warning, err
	}
	warning = fmt.Sprintf("this will not fit: it takes %s, and %s has %s", sizeText(needs.Memory.PeakReserved),
		s.room().Of, sizeText(plan.Capacity))
	if s.force {
		return needs, warning, nil
	}
	remedy, err := s.remedy(ctx, &plan)
	if err != nil {
		return needs, warning, err
	}
	return needs, warning, unfitError{machineError{warning, remedy + "; --force tries it all the same"}}
}

// checkHost fails if the run needs more host memory than there is, unless --force
// is given. On cpu:0 the device's memory is the host's too.
func (s *session) checkHost(m *train.Memory) (warning string, err error) {
	room, takes := hostmemory.Available(), m.HostReserved
	if _, isCPU := s.machine.(*cpu.Device); isCPU {
		takes += m.PeakReserved
	}
	if m.HostReserved == 0 || takes <= room.Bytes {
		return "", nil
	}
	warning = fmt.Sprintf("this will not fit: it keeps %s in the host's memory, and %s has %s",
		sizeText(m.HostReserved), room.Of, sizeText(room.Bytes))
	if s.force {
		return warning, nil
	}
	return warning, unfitError{machineError{warning, "give less with --offload, or a smaller model; --force tries it all the same"}}
}

// unfitError says that a run was refused because it will not fit.
type unfitError struct{ machineError }

// Unwrap returns the part of the error that is printed.
func (e unfitError) Unwrap() error { return e.machineError }

// remedyTime is how long a refusal may search for changes that make a run fit.
const remedyTime = 5 * time.Second

// remedy returns one line with changes that would make the run fit: those of a
// memory budget of all available memory.
func (s *session) remedy(ctx context.Context, plan *train.Plan) (string, error) {
	soon, cancel := context.WithTimeout(ctx, remedyTime)
	defer cancel()
	fit, err := plan.Within(soon, plan.Capacity)
	var small *train.TooSmallError
	switch {
	case soon.Err() != nil && ctx.Err() == nil:
		return fmt.Sprintf("--memory-budget %s looks for what makes it fit, which takes longer than %v", quantity.Exact(plan.Capacity), remedyTime), nil
	case errors.As(err, &small):
		return fmt.Sprintf("the least that this run can do with is %s: give more memory, or a smaller model", sizeText(small.Least)), nil
	case err != nil:
		return "", err
	}
	if _, err := s.checkHost(&fit.Needs.Memory); err != nil {
		return "there is too little for it on the host, too: give more memory, or a smaller model", nil
	}
	return fmt.Sprintf("it fits with %s (%s)", flagsOf(fit.Changes), sizeText(fit.Needs.Memory.PeakReserved)), nil
}

// flagsOf writes changes as flags.
func flagsOf(changes []trace.Value) string {
	var text []string
	for _, c := range changes {
		text = append(text, "--"+flagOf(c.Key)+" "+c.Value)
	}
	return strings.Join(text, " ")
}
