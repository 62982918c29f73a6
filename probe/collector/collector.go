package collector

import (
	"context"
	"errors"
	"time"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/exposition"
)

// patience is how long a collection may take when the scraper names no limit.
// Finding programs takes a part of it on a busy machine. After that the programs
// have [attach.Patience], or the rest if that is less.
const patience = 10 * time.Second

// reuse is how long other scrapes get the same result, so that many scrapes do
// not ask the programs more often.
const reuse = time.Second

// Collector gathers metrics. It is safe for concurrent use.
type Collector struct {
	look Look          // nil without a source of gauges
	turn chan struct{} // holds an item while a scrape collects; that scrape owns the fields below; never closed

	glance *glance           // the current one, nil for none
	known  map[string]called // by socket, for the programs of the last collection
	last   []exposition.Family
	at     time.Time     // of last
	within time.Duration // how long the programs had to answer
}

// New returns a collector. With nil for look, devices have only the gauges that
// the programs report.
func New(look Look) *Collector { return &Collector{look: look, turn: make(chan struct{}, 1)} }

var errBusy = errors.New("another scrape is still being answered")

// Collect asks every program on this machine and returns their metrics, which
// must not be changed. A program that does not answer in time is shown as down.
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
