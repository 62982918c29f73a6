package job

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
)

// rank is a followed rank with its state.
type rank struct {
	member Member
	past   past // owned by the goroutine that asks

	mu       sync.Mutex
	row      ranks.Row
	seen     []trace.Gauge // from outside
	answered time.Time
	ended    bool   // the process has ended
	fresh    bool   // row is newer than the last published one
	problem  string // the last published problem
}

func newRank(m Member) *rank {
	r := &rank{member: m}
	if m.Process.Info == nil { // it has not answered yet
		r.row, r.fresh = ranks.Row{Rank: trace.Rank{Rank: ranks.Unranked}, PID: m.Process.PID, Name: m.Process.Command, Capacity: -1, Others: -1}, true
		return r
	}
	r.take(RowOf(m.Process, m.Process.Info), time.Now())
	return r
}

// follow asks the rank in every interval, and waits for its answer: while that is
// missing, only the rank's own row gets old.
func (r *rank) follow(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		r.ask(ctx, tick)
		select { // does not ask a program that has ended, or refuses, at every tick
		case <-time.After(comeBack):
		case <-ctx.Done():
		}
	}
}

// comeBack is the pause after a failed request to a rank.
const comeBack = time.Second

// patience is how long a rank may take to answer one question.
const patience = 5 * time.Second

// ask asks the rank over one connection until that fails.
func (r *rank) ask(ctx context.Context, tick *time.Ticker) {
	teller, err := r.member.Machine.Teller(ctx, r.member.target())
	if err != nil {
		r.fail(err)
		return
	}
	defer teller.Close()
	for {
		if err := r.once(ctx, teller); err != nil {
			r.fail(err)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (r *rank) once(ctx context.Context, teller *attach.Teller) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	info, err := teller.Info(ctx)
	if err != nil {
		return err
	}
	if s := info.LastStep; s != nil {
		r.past.ended(info.Step, s.Allocated)
	}
	r.take(RowOf(r.member.Process, info), time.Now())
	return nil
}

// take takes a new row.
func (r *rank) take(row ranks.Row, now time.Time) {
	row.Recent, row.Growth = r.past.look(row.Allocated, now), r.past.growth()
	r.mu.Lock()
	defer r.mu.Unlock()
	look(&row, r.seen)
	r.row, r.answered, r.fresh, r.ended = row, now, true, false
}

// fail notes why a request to the rank failed.
func (r *rank) fail(err error) {
	var none *attach.NoProbeError
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = errors.As(err, new(*attach.NotFoundError)) || errors.As(err, &none)
}

// silentAfter is how long a rank may be silent before it is shown as lost: longer
// than a busy program takes.
const silentAfter = 2 * time.Second

// latest returns the rank's current row, and whether it has changed since the
// last call.
func (r *rank) latest(now time.Time, interval time.Duration) (ranks.Row, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	row := r.row
	silent := now.Sub(r.answered)
	switch {
	case r.answered.IsZero():
		row.Problem = "does not answer"
	case r.ended:
		row.Problem = fmt.Sprintf("ended %.0f s ago", silent.Seconds())
	case silent > silentAfter+2*interval:
		row.Problem = fmt.Sprintf("lost %.0f s", silent.Seconds())
	}
	fresh := r.fresh || row.Problem != r.problem
	r.fresh, r.problem = false, row.Problem
	return row, fresh
}
