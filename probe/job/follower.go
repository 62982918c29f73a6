package job

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/trace"
)

// Member is a rank to follow, and its machine.
type Member struct {
	Machine attach.Machine
	Process attach.Process // with its Info, unless it did not answer
}

// target is the name of the process for its machine. On this machine it is the
// socket, since a pid may have several.
func (m *Member) target() string {
	if m.Process.Host == "" {
		return m.Process.Socket
	}
	return strconv.Itoa(m.Process.PID)
}

// Options say how to follow.
type Options struct {
	// Interval is how often each rank is asked, 0 for 100 ms. In a large job ranks
	// are asked less often: the follower sends at most a thousand requests a second.
	Interval time.Duration
	// Gauge reads the gauges of a program's devices every second, as in
	// [attach.DialOptions]; nil for none. The follower reads the devices of one
	// machine one after the other, and different machines at the same time.
	Gauge func(p attach.Process, devices []int) ([]trace.Gauge, error)
}

// perQuestion is the least time for each request. perRow is the least time for
// each row until rows are published again: nearly all cells of a screen of many
// ranks change then, faster than a user can read.
const (
	perQuestion = time.Millisecond
	perRow      = 3 * time.Millisecond
)

// Follower keeps a row of each rank of a job. It is safe for concurrent use.
type Follower struct {
	o       Options
	ranks   []*rank
	rows    atomic.Pointer[[]ranks.Row]
	changed chan struct{} // never closed: ranks may come back
	cancel  context.CancelFunc
	all     sync.WaitGroup
}

// Follow begins to follow ranks. The rows have their order. The caller closes the
// follower.
func Follow(members []Member, o Options) *Follower {
	if o.Interval <= 0 {
		o.Interval = protocol.DefaultInterval
	}
	o.Interval = max(o.Interval, time.Duration(len(members))*perQuestion)
	ctx, cancel := context.WithCancel(context.Background())
	f := &Follower{o: o, changed: make(chan struct{}, 1), cancel: cancel}
	for i := range members {
		f.ranks = append(f.ranks, newRank(members[i]))
	}
	f.publish(time.Now())
	for _, r := range f.ranks {
		f.all.Go(func() { r.follow(ctx, o.Interval) }) // with the same timer, so that the process wakes once for all
	}
	f.all.Go(func() { f.run(ctx) })
	if o.Gauge != nil {
		for _, there := range f.machines() {
			go f.look(ctx, there) // a driver that does not answer may block it for ever
		}
	}
	return f
}

// Rows returns the newest row of each rank, in the order of the members. They never
// change.
func (f *Follower) Rows() []ranks.Row { return *f.rows.Load() }

// Changed returns a channel with room for one that receives when Rows returns something
// newer than it did.
func (f *Follower) Changed() <-chan struct{} { return f.changed }

// Close ends following.
func (f *Follower) Close() {
	f.cancel()
	f.all.Wait()
}

// run publishes new rows, at most once in each interval.
func (f *Follower) run(ctx context.Context) {
	tick := time.NewTicker(max(f.o.Interval, time.Duration(len(f.ranks))*perRow))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			if f.publish(now) {
				select {
				case f.changed <- struct{}{}:
				default:
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// publish makes the current rows and reports whether any has changed.
func (f *Follower) publish(now time.Time) bool {
	rows, fresh := make([]ranks.Row, len(f.ranks)), false
	for i, r := range f.ranks {
		row, newer := r.latest(now, f.o.Interval)
		rows[i], fresh = row, fresh || newer
	}
	if fresh {
		f.rows.Store(&rows)
	}
	return fresh
}

// lookEvery is how often the gauges of devices are read.
const lookEvery = time.Second

// machines returns the ranks of each machine.
func (f *Follower) machines() map[string][]*rank {
	by := make(map[string][]*rank)
	for _, r := range f.ranks {
		host := r.member.Process.Host
		by[host] = append(by[host], r)
	}
	return by
}

// look reads the gauges of the ranks of one machine, one after the other.
func (f *Follower) look(ctx context.Context, there []*rank) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		for _, r := range there {
			if seen, err := f.o.Gauge(r.member.Process, r.devices()); err == nil {
				r.see(seen)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// devices returns the numbers of the rank's device, one.
func (r *rank) devices() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []int{r.row.Device}
}

func (r *rank) see(seen []trace.Gauge) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = slices.Clone(seen)
}
