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
// A change is asked of all ranks at the same time, and stays if a step of each has shown
// it: the same step, one that none has begun when all have been asked, where they know of
// such changes and count the same steps. If one refuses it, at once or when its step comes, or cannot be asked, the others
// are set back to what they had: also those whose step has shown it already.

// Set asks all ranks for another value of a setting and returns the change as the one
// noted it that is at a place among the members. It waits until steps of all have shown
// the value. When ctx ends before a step of any has, the change is pending still. The
// error says which rank refused, or made no step, and why; no rank keeps the value then,
// as far as it can be asked.
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

// infos asks all ranks how they are; what cannot be asked is nil.
func (f *Follower) infos(ctx context.Context) []*protocol.Info {
	list := make([]*protocol.Info, len(f.ranks))
	f.each(func(i int, r *rank) {
		_ = r.tell(ctx, func(ctx context.Context, t *attach.Teller) (err error) { // the change will say why
			list[i], err = t.Info(ctx)
			return err
		})
	})
	return list
}

// askingTime is how long ranks may take to hear of a change, all of them.
const askingTime = time.Second

// commonStep returns the step with which a change is to begin in all ranks, by the pace
// of the quickest. It is 0, for the next step of each, where not all know of such changes,
// or they are further apart than ranks of one job are: they began to count at different
// moments.
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

// asked is what became of a change in one rank.
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

// settleEvery is how often ranks are asked whether their step has shown a change.
const settleEvery = 100 * time.Millisecond

// settle waits until all ranks have shown a change. The error says which refused it.
func (f *Follower) settle(ctx context.Context, all []asked) error {
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for slices.ContainsFunc(all, func(a asked) bool { return a.change.State == trace.Pending }) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return stalled(f.ranks, all)
		}
		f.each(func(i int, r *rank) {
			if all[i].change.State == trace.Pending {
				all[i] = r.became(ctx, all[i].change)
			}
		})
		if err := refusal(f.ranks, all); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// stalled says which rank has made no step while others did. Where none did, steps take
// longer than anyone waits, and the change will come.
func stalled(ranks []*rank, all []asked) error {
	applied := slices.ContainsFunc(all, func(a asked) bool { return a.change.State == trace.Applied })
	for i, a := range all {
		if applied && a.change.State == trace.Pending {
			return fmt.Errorf("%s has made no step since", ranks[i].name())
		}
	}
	return nil
}

// refusal says which ranks did not take a change, nil when all did.
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

// withdraw sets back what ranks have taken, and names those that cannot be asked to.
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

// name is how messages call the rank.
func (r *rank) name() string {
	if p := r.member.Process; p.Info == nil || p.Info.Rank == nil {
		return fmt.Sprintf("process %d", p.PID)
	}
	return fmt.Sprintf("rank %d", r.member.Process.Info.Rank.Rank)
}

// change asks the rank for another value, from a step on, 0 for the next one.
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

// became asks what became of a change.
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

// tell asks the rank something over a connection of its own: the one that follows may be
// waiting.
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
