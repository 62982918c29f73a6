package attach

import (
	"context"
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

// during runs a process beside what waits for it, and returns how long that took.
func during(t *testing.T, first *trace.Trace, run func(*stepper), wait func(context.Context, *stepper)) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p := &stepper{changed: make(chan struct{}), ended: make(chan struct{}), over: make(chan struct{})}
		p.latest.Store(first)
		var running sync.WaitGroup
		running.Go(func() { run(p) })
		wait(t.Context(), p)
		took = time.Since(began)
		close(p.over)
		running.Wait()
	})
	return took
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
			took := during(t, &trace.Trace{}, test.run, func(ctx context.Context, p *stepper) {
				_, err := Until(ctx, p, third)
				if errors.As(err, new(StuckError)) != errors.As(test.want, new(StuckError)) || (err == nil) != (test.want == nil) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			})
			if took != test.took {
				t.Errorf("it took %v, want %v", took, test.took)
			}
		})
	}
}

// lookAt tells of a step that took so long, and whether a whole one was measured.
func (s *stepper) lookAt(took time.Duration, looking bool) {
	time.Sleep(took)
	s.latest.Store(&trace.Trace{
		Live: &trace.Live{Connected: true, Looking: looking}, Steps: []trace.Step{{Number: 1, Duration: int64(took)}},
	})
	s.tell()
}

func TestAWholeStepIsWaitedForWithinBounds(t *testing.T) {
	tests := map[string]struct {
		known   time.Duration // how long a step took before, 0 for none
		run     func(*stepper)
		looking bool
		took    time.Duration
	}{
		"a step":            {0, func(p *stepper) { p.lookAt(2*time.Second, true); p.lookAt(2*time.Second, false) }, false, 4 * time.Second},
		"a slow step":       {time.Minute, func(p *stepper) { p.lookAt(time.Minute, true); p.lookAt(time.Minute, false) }, false, 2 * time.Minute},
		"no step":           {0, func(*stepper) {}, true, withoutAwaits},
		"steps, none whole": {0, func(p *stepper) { p.lookAt(time.Second, true) }, true, leastAwaited},
		"a pause":           {20 * time.Second, func(*stepper) {}, true, time.Minute},
		"hours":             {time.Hour, func(*stepper) {}, true, mostAwaited},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			first := &trace.Trace{Live: &trace.Live{Connected: true, Looking: true}}
			if test.known > 0 {
				first.Steps = []trace.Step{{Number: 1, Duration: int64(test.known)}}
			}
			took := during(t, first, test.run, func(ctx context.Context, p *stepper) {
				if got, err := Looked(ctx, p); err != nil || got.Live.Looking != test.looking {
					t.Errorf("got %v and looking %v, want %v", err, got.Live.Looking, test.looking)
				}
			})
			if took != test.took {
				t.Errorf("it took %v, want %v", took, test.took)
			}
		})
	}
}

func TestAProcessThatEndsIsNotWaitedFor(t *testing.T) {
	p := &stepper{changed: make(chan struct{}), ended: make(chan struct{})}
	p.latest.Store(&trace.Trace{Live: &trace.Live{Connected: true, Looking: true}})
	close(p.ended)
	if got, err := Looked(t.Context(), p); !errors.Is(err, ErrEnded) || got == nil {
		t.Errorf("got %v, %v", got, err)
	}
}
