package collector

import (
	"context"
	"errors"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/exposition"
)

// patience is how long a collection may take when a scraper says nothing of its
// own. To find programs takes a part of it on a busy machine; once found they
// have [attach.Patience], or what is left if that is less.
const patience = 10 * time.Second

// reuse is how long what was collected is good for other scrapes: however many
// there are, the programs are not asked more often.
const reuse = time.Second

// Collector gathers metrics. It is safe for concurrent use.
type Collector struct {
	look Look          // nil when there is nothing to look with
	turn chan struct{} // holds an item while a scrape collects, which owns what follows; never closed

	glance *glance           // that is still under way, nil for none
	known  map[string]called // by socket, of the programs that were there the last time
	last   []exposition.Family
	at     time.Time     // of last
	within time.Duration // that the programs had to answer
}

// New returns a collector that has asked nothing yet. With nil for look, devices have
// the gauges that programs have of them.
func New(look Look) *Collector { return &Collector{look: look, turn: make(chan struct{}, 1)} }

var errBusy = errors.New("another scrape is still being answered")

// Collect asks every program on this machine and returns their metrics, which
// must not be changed. What does not answer in time is shown as down.
func (c *Collector) Collect(ctx context.Context, within time.Duration) ([]exposition.Family, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, errBusy
	}
	deadline, _ := ctx.Deadline()
	left := min(time.Until(deadline), attach.Patience)
	if time.Since(c.at) < reuse && c.within >= left {
		return c.last, nil
	}
	found, err := attach.Discover(ctx)
	if err != nil {
		return nil, err
	}
	c.addGauges(ctx, found)
	c.last, c.at, c.within = c.families(found), time.Now(), left
	return c.last, nil
}
