package probe

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/memtop/memtop/probe/survey"
	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// DeviceStep is what a device had when a step began, and how many requests its
// allocator had in the step.
type DeviceStep struct {
	Device   int
	Requests int64
	Begun    trace.Begun
}

var errNotBegun = errors.New("what the device had when the step began is not known")

// stepEnd is the snapshot with which a step ended.
type stepEnd struct {
	*Taken
	contents *trace.Trace // nil until it is asked for: a surveyed step asks twice
}

// findPeak finds the peak of a step on a device in its events, if the allocator's
// counter does not say it.
func (r *Relay) findPeak(s *trace.Step) {
	taken := r.step
	r.step = nil
	if s.Measured() || len(s.Categories) == 0 {
		return
	}
	blocks, err := taken.blocks(s.Device)
	if err == nil {
		s.PeakAllocated, s.PeakReserved = blocks.Peak, blocks.PeakReserved
		return
	}
	s.Settings = append(s.Settings, trace.Value{Key: "peak", Value: "not known: " + err.Error()})
	slices.SortFunc(s.Settings, func(a, b trace.Value) int { return strings.Compare(a.Key, b.Key) })
}

// blocks returns the blocks of the step with which the snapshot ends. The snapshot may
// be nil.
func (t *stepEnd) blocks(device int) (_ *trace.StepBlocks, err error) {
	if t == nil {
		return nil, errNotBegun
	}
	at := slices.IndexFunc(t.Steps, func(s DeviceStep) bool { return s.Device == device })
	if at < 0 {
		return nil, errNotBegun
	}
	if t.contents == nil {
		if t.contents, err = pytorch.Decode(context.Background(), bytes.NewReader(t.Pickle), pytorch.Options{}); err != nil {
			return nil, err
		}
	}
	d := t.contents.Device(device)
	if d == nil {
		return nil, errNotBegun
	}
	return trace.NewStepBlocks(t.contents, d, t.Steps[at].Begun, t.Steps[at].Requests)
}

// Survey takes in a step on a device from which changes are predicted. It follows the
// step's snapshot, if there is one.
func (r *Relay) Survey(device int, s *survey.Step) {
	s.Memory, _ = r.step.blocks(device) // without them, storages are all that is known
	r.mu.Lock()
	r.survey = s
	r.mu.Unlock()
}
