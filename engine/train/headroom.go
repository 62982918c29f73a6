package train

import (
	"context"
	"errors"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Headroom
//
// The trainer finds by trying how many samples fit at a time. It rehearses steps
// with more and more samples on a memory of the given size until one runs out of
// memory. The allocator of the rehearsal splits and caches blocks as the real one
// does. The number of parts of a batch does not change. A step's peak has a fixed
// part and a part for each sample: they come from the line through two of these
// rehearsals.

// mostSamples bounds the search.
const mostSamples = 1 << 20

// Headroom returns how many samples at a time fit into the given bytes of memory,
// in a run that begins with the given changes. 0 bytes means all memory of the
// device. Headroom fails if a value is invalid, if Config.Build is not given, or
// if the memory of the device is not known. Safe for concurrent use, as Predict
// is.
func (t *Trainer) Headroom(ctx context.Context, changes []trace.Value, capacity int64) (*trace.Headroom, error) {
	_, then, err := t.changed(changes)
	switch {
	case err != nil:
		return nil, err
	case t.config.Build == nil:
		return nil, ErrNoRehearsal
	case capacity == 0:
		capacity = t.config.Capacity
		if b := then.Budget; b > 0 && (b < capacity || capacity == 0) {
			capacity = b
		}
	}
	if capacity <= 0 {
		return nil, errors.New("it is not known how much memory the device has")
	}
	ctx, cancel := context.WithTimeout(ctx, predictionTime)
	defer cancel()
	parts, err := then.Parts(t.config.Batch)
	if err != nil {
		return nil, err
	}
	s := search{plan: t.plan(), settings: then.free(), parts: len(parts)}
	return s.headroom(ctx, parts[0], capacity)
}

// search rehearses steps of different numbers of samples.
type search struct {
	plan     Plan
	settings Settings
	parts    int // of a batch
}

// of returns the run with n samples at a time.
func (s *search) of(n int, capacity int64) Plan {
	p := s.plan
	p.Batch, p.Capacity, p.Settings = n*s.parts, capacity, s.settings
	p.Settings.MicroBatch, p.Settings.Accumulate = 0, s.parts
	return p
}

// step rehearses steps with n samples at a time in unlimited memory.
func (s *search) step(ctx context.Context, n int) (Memory, error) {
	e, err := s.of(n, 0).Estimate(ctx)
	return e.Memory, err
}

func (s *search) headroom(ctx context.Context, now int, capacity int64) (*trace.Headroom, error) {
	one, err := s.step(ctx, now)
	if err != nil {
		return nil, err
	}
	two, err := s.step(ctx, 2*now)
	if err != nil {
		return nil, err
	}
	h := &trace.Headroom{
		Capacity: capacity, Samples: now, Parts: s.parts, PeakAllocated: one.PeakAllocated, PeakReserved: one.PeakReserved,
		PerSample: (two.PeakAllocated - one.PeakAllocated) / int64(now),
	}
	h.Fixed = one.PeakAllocated - int64(now)*h.PerSample
	h.Most, err = most(now, func(n int) (bool, error) {
		_, fits, err := s.of(n, capacity).Runs(ctx)
		return fits, err
	})
	return h, err
}

// most returns how many samples fit, 0 if not even one does. It doubles the
// present number until the samples do not fit, and then searches between the last
// two numbers. Segments have few sizes, so a larger number may still fit by
// chance.
func most(now int, fits func(n int) (bool, error)) (int, error) {
	good, bad := 0, 0
	for n := now; bad == 0 || bad-good > 1; {
		ok, err := fits(n)
		switch {
		case err != nil:
			return 0, err
		case ok:
			good = n
		default:
			bad = n
		}
		if n = (good + bad) / 2; bad == 0 {
			n = 2 * good
		}
		if good >= mostSamples {
			return good, nil
		}
	}
	return good, nil
}
