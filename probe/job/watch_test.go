package job

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/probetest"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/trace"
)

// shy is a program that measures its memory only while it is watched, and takes no change
// before it has.
type shy struct {
	*probetest.Program
	looked atomic.Bool
}

func (s *shy) Set(key, value string) error {
	if !s.looked.Load() {
		return errors.New("no step was looked at yet")
	}
	return s.Program.Set(key, value)
}

// train makes steps until ctx is done.
func (s *shy) train(ctx context.Context, t *testing.T, p *probe.Probe) {
	t.Helper()
	teller, err := attach.Here.Teller(ctx, p.Path())
	if err != nil {
		t.Error(err)
		return
	}
	defer teller.Close()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for number := int64(1); ctx.Err() == nil; number++ {
		step := trace.Step{Number: number, Duration: int64(5 * time.Millisecond)}
		for _, o := range s.Options() {
			step.Settings = append(step.Settings, trace.Value{Key: o.Key, Value: o.Value})
		}
		if info, err := teller.Info(ctx); err == nil && info.Viewers > 0 {
			step.PeakAllocated = 1 << 20
			s.looked.Store(true)
		}
		p.Step(step)
		<-tick.C
	}
}

// TestRanksThatWereNeverLookedAtAreWatchedForAChange has ranks of which none is watched.
func TestRanksThatWereNeverLookedAtAreWatchedForAChange(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var members []Member
	done := make(chan struct{}, 2) // an item from each program that has ended
	for number := range 2 {
		s := &shy{Program: probetest.New()}
		path := filepath.Join(t.TempDir(), "probes", "a")
		p, err := probe.Listen(t.Context(), probe.Options{
			Path: path, Control: s, Rank: &trace.Rank{Job: "job", Rank: number, World: 2},
		}, s.Program)
		fatal.If(t, err)
		t.Cleanup(func() { _ = p.Close() })
		go func() { s.train(ctx, t, p); done <- struct{}{} }()
		members = append(members, member(t, path))
	}
	defer func() { stop(); <-done; <-done }()
	f := Follow(members, Options{Interval: quick})
	defer f.Close()
	probetest.Eventually(t, "steps", func() bool { return f.Rows()[0].Step > 0 && f.Rows()[1].Step > 0 })
	change, err := f.Set(t.Context(), 1, "amp", "bf16")
	if err != nil || change.State != trace.Applied {
		t.Errorf("the change is %+v, %v", change, err)
	}
}
