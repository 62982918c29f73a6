package attach

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// lookEvery is how often the client reads the devices' gauges.
const lookEvery = time.Second

// looksKept is how many readings the client keeps: ten minutes of one device.
const looksKept = 600

// patienceForLook is how long closing a client waits for the current reading.
const patienceForLook = time.Second

// gaugeLog holds the readings of the devices' gauges. Safe for concurrent use.
type gaugeLog struct {
	mu     sync.Mutex
	list   []trace.Gauge
	reason error // why there are no readings
}

// look reads the gauges until ctx is done. No goroutine waits for it: a driver
// that does not answer blocks only this one, for ever.
func (c *Client) look(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		p := c.now.Load()
		p.gauges.add(c.gauges(p.process))
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (c *Client) gauges(p Process) (seen []trace.Gauge, err error) {
	defer caught(&err)
	return c.o.Gauge(p, devicesOf(c.Trace()))
}

// letGo waits a short time for the current reading: the driver may never answer.
func (c *Client) letGo() {
	if c.o.Gauge == nil {
		return
	}
	select {
	case <-c.looked:
	case <-time.After(patienceForLook):
	}
}

func devicesOf(t *trace.Trace) []int {
	var devices []int
	for i := range t.Devices {
		devices = append(devices, t.Devices[i].ID)
	}
	return devices
}

func (l *gaugeLog) add(seen []trace.Gauge, reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reason = reason
	if len(l.list) >= 2*looksKept {
		l.list = slices.Clone(l.list[len(l.list)-looksKept:]) // slices that were handed out stay valid
	}
	l.list = append(l.list, seen...)
}

// merge returns the program's own readings and these, by time. If there are none
// it returns why.
func (l *gaugeLog) merge(own []trace.Gauge) ([]trace.Gauge, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		if slices.ContainsFunc(own, func(g trace.Gauge) bool { return g.Device >= 0 }) {
			return own, nil
		}
		return own, l.reason
	}
	all := slices.Concat(own, l.list)
	slices.SortStableFunc(all, func(a, b trace.Gauge) int { return cmp.Compare(a.Time, b.Time) })
	complete(all)
	return all, nil
}

// complete gives each gauge what only others of its device know: the program who took
// its memory, and the driver, asked from outside, which process is the program. In a
// container a process cannot tell.
func complete(all []trace.Gauge) {
	last := make(map[int]trace.Gauge)
	for i := range all {
		g := &all[i]
		before, known := last[g.Device]
		if known && g.Card == nil {
			g.Card = before.Card
		}
		if known && g.Process < 0 {
			g.Process, g.Others, g.Users = before.Process, before.Others, before.Users
		}
		last[g.Device] = *g
	}
}
