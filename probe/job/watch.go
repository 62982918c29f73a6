package job

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/memtop/memtop/probe/protocol"
)

// # Ranks that were never looked at
//
// Some programs measure their memory only while a viewer watches. They refuse
// changes before the first measurement, because they cannot predict the effect.
// The screen watches only the shown rank of a job. So memtop watches the other
// ranks too while it changes a setting.

// unseen returns the ranks that have made steps and measured none of them.
func (f *Follower) unseen(infos []*protocol.Info) []*rank {
	var list []*rank
	for i, now := range infos {
		if now != nil && now.LastStep != nil && now.LastStep.PeakAllocated == 0 {
			list = append(list, f.ranks[i])
		}
	}
	return list
}

// lookedWithin is how many steps of the slowest rank the first measurement of all
// ranks may take.
const lookedWithin = 5

// watch watches ranks and returns when each has measured a step, or when that
// takes too long: the change will then report the error. The watch lasts until
// the caller calls the returned function.
func (f *Follower) watch(ctx context.Context, unseen []*rank) (leave func()) {
	watching, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, r := range unseen {
		all.Go(func() {
			if t, err := r.member.Machine.Teller(watching, r.member.target()); err == nil {
				defer t.Close()
				_ = t.Watch(watching) // without it the change is refused, and says why
			}
		})
	}
	f.awaitLooks(ctx, unseen)
	return func() { cancel(); all.Wait() }
}

func (f *Follower) awaitLooks(ctx context.Context, unseen []*rank) {
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for began, limit := time.Now(), patience; time.Since(began) < limit; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		infos := f.infos(ctx)
		if !slices.ContainsFunc(f.unseen(infos), func(r *rank) bool { return slices.Contains(unseen, r) }) {
			return
		}
		for _, now := range infos {
			if now != nil && now.LastStep != nil {
				limit = max(limit, lookedWithin*time.Duration(now.LastStep.Duration))
			}
		}
	}
}
