package attach

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// stepper is a process whose steps end when a test says so.
type stepper struct {
	latest  atomic.Pointer[trace.Trace]
	changed chan struct{} // never closed
	ended   chan struct{} // closed by a test
	over    chan struct{} // closed at the test's end
}

func (s *stepper) Trace() *trace.Trace      { return s.latest.Load() }
func (s *stepper) Changed() <-chan struct{} { return s.changed }
func (s *stepper) Ended() <-chan struct{}   { return s.ended }

// step ends a step that took so long, of the bubble's time.
func (s *stepper) step(took time.Duration) {
	time.Sleep(took)
	steps := slices.Clone(s.Trace().Steps)
	s.latest.Store(&trace.Trace{Steps: append(steps, trace.Step{Number: int64(len(steps) + 1), Duration: int64(took)})})
	s.tell()
}

// news tells of something other than steps, once a second.
func (s *stepper) news(times int) {
	for range times {
		time.Sleep(time.Second)
		s.tell()
	}
}

func (s *stepper) tell() {
	select {
	case s.changed <- struct{}{}:
	case <-s.over:
	}
}

func TestStepsAreWaitedForAsLongAsTheyMayTake(t *testing.T) {
	third := func(t *trace.Trace) bool { return LastStep(t) == 3 }
	tests := map[string]struct {
		run  func(*stepper)
		want error
		took time.Duration
	}{
		"steps that end":    {func(p *stepper) { p.step(time.Second); p.step(time.Second); p.step(time.Second) }, nil, 3 * time.Second},
		"slow steps":        {func(p *stepper) { p.step(time.Minute); p.step(5 * time.Minute); p.step(time.Hour - time.Minute) }, StuckError{}, 56 * time.Minute},
		"no step":           {func(*stepper) {}, StuckError{}, leastPatience},
		"one step":          {func(p *stepper) { p.step(time.Second) }, StuckError{}, leastPatience + time.Second},
		"news but no steps": {func(p *stepper) { p.step(time.Second); p.news(1000) }, StuckError{}, leastPatience + time.Second},
		"an end":            {func(p *stepper) { p.step(time.Second); close(p.ended) }, ErrEnded, time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over, began := make(chan struct{}), time.Now()
				p := &stepper{changed: make(chan struct{}), ended: make(chan struct{}), over: over}
				p.latest.Store(&trace.Trace{})
				var running sync.WaitGroup
				running.Go(func() { test.run(p) })
				_, err := Until(t.Context(), p, third)
				if errors.As(err, new(StuckError)) != errors.As(test.want, new(StuckError)) || (err == nil) != (test.want == nil) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %v, want %v", took, test.took)
				}
				close(over)
				running.Wait()
			})
		})
	}
}
