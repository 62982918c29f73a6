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
// A program that measures its memory only while it is watched refuses changes before the
// first look: it does not know what they would do. Of a job one rank is watched, the one
// that is shown. So the others are watched too while a setting is changed.

// unseen returns the ranks that have made steps and measured none.
func (f *Follower) unseen(infos []*protocol.Info) []*rank {
	var list []*rank
	for i, now := range infos {
		if now != nil && now.LastStep != nil && now.LastStep.PeakAllocated == 0 {
			list = append(list, f.ranks[i])
		}
	}
	return list
}

// lookedWithin is how many steps of the slowest rank it may take until all were looked at.
const lookedWithin = 5

// watch watches ranks until each has measured a step, or that takes too long: what is
// wrong then the change will say. It goes on until the returned function is called.
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
