package job

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Settings of ranks that do not agree by themselves
//
// memtop asks all ranks for a change at the same time. The change stays if a step
// of each rank has shown it. If all ranks support changes at a named step and
// count the same steps, it is the same step for all, one that none has begun. If
// a rank refuses the change, at once or at its step, or does not answer, memtop
// sets the others back to their earlier value, also those whose step has already
// shown the change.

// Set asks all ranks for another value of a setting. It returns the change in the
// form of the rank with the given index among the members. It waits until steps
// of all ranks have shown the value. When ctx ends before any step has, the
// change is still pending. The error says which rank refused, or made no step,
// and why; then no rank that answers keeps the value.
func (f *Follower) Set(ctx context.Context, at int, key, value string) (trace.Change, error) {
	asked := make([]asked, len(f.ranks))
	infos := f.infos(ctx)
	if unseen := f.unseen(infos); len(unseen) > 0 {
		defer f.watch(ctx, unseen)()
		infos = f.infos(ctx)
	}
	step := commonStep(infos)
	f.each(func(i int, r *rank) { asked[i] = r.change(ctx, trace.Value{Key: key, Value: value}, step) })
	err := refusal(f.ranks, asked)
	if err == nil {
		err = f.settle(ctx, asked)
	}
	if err == nil {
		return asked[at].change, nil
	}
	if kept := f.withdraw(context.WithoutCancel(ctx), asked); kept != "" {
		err = fmt.Errorf("%w; %s could not be set back", err, kept)
	}
	return trace.Change{}, err
}

// infos asks all ranks for their state; nil for a rank that does not answer.
func (f *Follower) infos(ctx context.Context) []*protocol.Info {
	list := make([]*protocol.Info, len(f.ranks))
	f.each(func(i int, r *rank) {
		_ = r.tell(ctx, func(ctx context.Context, t *attach.Teller) (err error) { // the change will report the error
			list[i], err = t.Info(ctx)
			return err
		})
	})
	return list
}

// askingTime is how long all ranks together may take to receive a change.
const askingTime = time.Second

// commonStep returns the step at which a change begins in all ranks, computed
// from the pace of the fastest. It returns 0, the next step of each, if not all
// ranks support that, or if their steps are too far apart for one job: then they
// began to count at different moments.
func commonStep(list []*protocol.Info) int64 {
	var first, last, shortest int64
	for i, now := range list {
		if now == nil || now.LastStep == nil || now.LastStep.Duration <= 0 || !slices.Contains(now.Capabilities, protocol.CapabilityAt) {
			return 0
		}
		if i == 0 {
			first, last, shortest = now.Step, now.Step, now.LastStep.Duration
		}
		first, last, shortest = min(first, now.Step), max(last, now.Step), min(shortest, now.LastStep.Duration)
	}
	ahead := 2 + askingTime.Nanoseconds()/max(shortest, 1)
	if last-first > ahead {
		return 0
	}
	return last + ahead
}

// asked is the state of a change in one rank.
type asked struct {
	change trace.Change
	err    error
}

// each calls one function for all ranks, at the same time.
func (f *Follower) each(do func(i int, r *rank)) {
	var all sync.WaitGroup
	for i, r := range f.ranks {
		all.Go(func() { do(i, r) })
	}
	all.Wait()
}

// settleEvery is how often memtop asks ranks whether a step has shown a change.
const settleEvery = 100 * time.Millisecond

// settle waits until all ranks have shown a change. When ctx ends, it asks a last
// time. The error names a rank that refused the change, or that stalled.
func (f *Follower) settle(ctx context.Context, all []asked) error {
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for slices.ContainsFunc(all, func(a asked) bool { return a.change.State == trace.Pending }) {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		last := ctx.Err() != nil
		if last {
			ctx = context.WithoutCancel(ctx)
		}
		f.each(func(i int, r *rank) {
			if all[i].change.State == trace.Pending {
				all[i] = r.became(ctx, all[i].change)
			}
		})
		if err := refusal(f.ranks, all); err != nil && ctx.Err() == nil {
			return err
		}
		if last {
			return stalled(f.ranks, all)
		}
	}
	return nil
}

// stalled names a rank that made no step while others did. If no rank did, the
// steps are just slow, and the change will come.
func stalled(ranks []*rank, all []asked) error {
	applied := slices.ContainsFunc(all, func(a asked) bool { return a.change.State == trace.Applied })
	for i, a := range all {
		if applied && a.change.State == trace.Pending {
			return fmt.Errorf("%s has made no step since", ranks[i].name())
		}
	}
	return nil
}

// refusal names the ranks that did not accept a change, nil when all did.
func refusal(ranks []*rank, all []asked) error {
	var first error
	more := 0
	for i, a := range all {
		switch {
		case a.err == nil && a.change.State != trace.Refused:
			continue
		case first != nil:
			more++
		case a.err != nil:
			first = fmt.Errorf("%s: %w", ranks[i].name(), a.err)
		default:
			first = fmt.Errorf("%s refused: %s", ranks[i].name(), a.change.Reason)
		}
	}
	if more > 0 {
		return fmt.Errorf("%w; so did %d more", first, more)
	}
	return first
}

// withdraw sets the ranks that accepted a change back, and names the ranks that
// do not answer.
func (f *Follower) withdraw(ctx context.Context, all []asked) string {
	var mu sync.Mutex
	var kept []string
	f.each(func(i int, r *rank) {
		a := all[i]
		if a.change.ID == 0 || a.change.State == trace.Refused || a.change.From == a.change.To {
			return
		}
		if back := r.change(ctx, trace.Value{Key: a.change.Key, Value: a.change.From}, 0); back.err != nil || back.change.State == trace.Refused {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, r.name())
		}
	})
	slices.Sort(kept)
	return strings.Join(kept, ", ")
}

// name is the rank's name in messages.
func (r *rank) name() string {
	if p := r.member.Process; p.Info == nil || p.Info.Rank == nil {
		return fmt.Sprintf("process %d", p.PID)
	}
	return fmt.Sprintf("rank %d", r.member.Process.Info.Rank.Rank)
}

// change asks the rank for another value, from a step on; 0 is the next step.
func (r *rank) change(ctx context.Context, v trace.Value, step int64) (a asked) {
	a.err = r.tell(ctx, func(ctx context.Context, t *attach.Teller) error {
		made, err := t.Change(ctx, []trace.Value{v}, step)
		if err == nil {
			a.change = made[0]
		}
		return err
	})
	return a
}

// became asks for the state of a change.
func (r *rank) became(ctx context.Context, c trace.Change) asked {
	a := asked{change: c}
	a.err = r.tell(ctx, func(ctx context.Context, t *attach.Teller) error {
		s, err := t.Settings(ctx)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(s.Changes, func(other trace.Change) bool { return other.ID == c.ID }); i >= 0 {
			a.change = s.Changes[i]
		}
		return nil
	})
	return a
}

// Predict asks the rank at a place among the members what changes would do together.
func (f *Follower) Predict(ctx context.Context, at int, changes []trace.Value) (p *trace.Prediction, err error) {
	err = f.ranks[at].tell(ctx, func(ctx context.Context, t *attach.Teller) error {
		p, err = t.Predict(ctx, changes)
		return err
	})
	return p, err
}

// tell sends the rank a request over a separate connection: the following one may
// be waiting for an answer.
func (r *rank) tell(ctx context.Context, say func(context.Context, *attach.Teller) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t, err := r.member.Machine.Teller(ctx, r.member.target())
	if err != nil {
		return err
	}
	defer t.Close()
	return say(ctx, t)
}
