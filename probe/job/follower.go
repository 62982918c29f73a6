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

// Member is a rank that is followed, and where it runs.
type Member struct {
	Machine attach.Machine
	Process attach.Process // with its Info, unless it did not answer
}

// target is what the machine calls the process: here its socket, since a pid may have
// several.
func (m *Member) target() string {
	if m.Process.Host == "" {
		return m.Process.Socket
	}
	return strconv.Itoa(m.Process.PID)
}

// Options say how to follow.
type Options struct {
	// Interval is how often each rank is asked, 0 for 100 ms. Of a large job it is
	// more: no more than a thousand questions a second are asked.
	Interval time.Duration
	// Gauge looks at a program's devices from outside, every second, as that of
	// [attach.DialOptions]; nil when there is nothing to look with. Those of one
	// machine are looked at one after the other, machines at the same time.
	Gauge func(p attach.Process, devices []int) ([]trace.Gauge, error)
}

// perQuestion is the least time that each question has of all, and perRow the least that
// each row has until rows are published again: nearly all cells of a screen of many ranks
// change then, faster than anyone reads.
const (
	perQuestion = time.Millisecond
	perRow      = 3 * time.Millisecond
)

// Follower keeps a row of each rank of a job. It is safe for concurrent use.
type Follower struct {
	o       Options
	ranks   []*rank
	rows    atomic.Pointer[[]ranks.Row]
	changed chan struct{} // never closed: ranks come back
	cancel  context.CancelFunc
	all     sync.WaitGroup
}

// Follow begins to follow ranks, whose order the rows have. The caller closes the
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
		f.all.Go(func() { r.follow(ctx, o.Interval) }) // all at the same time, to be woken once for all
	}
	f.all.Go(func() { f.run(ctx) })
	if o.Gauge != nil {
		for _, there := range f.machines() {
			go f.look(ctx, there) // which a driver that does not answer may hold up for good
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

// run publishes what came, at most once in each interval.
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

// publish makes the rows of now and reports whether any is another than before.
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

// lookEvery is how often devices are looked at from outside.
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

// look looks at the devices of the ranks of one machine, one after the other.
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
