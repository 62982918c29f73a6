package attach

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// lookEvery is how often the devices are looked at from outside.
const lookEvery = time.Second

// looksKept is how many looks are kept, ten minutes of one device.
const looksKept = 600

// patienceForLook is how long closing a client waits for the look under way.
const patienceForLook = time.Second

// gaugeLog is what was seen of the devices from outside. Safe for concurrent
// use.
type gaugeLog struct {
	mu     sync.Mutex
	list   []trace.Gauge
	reason error // why there is nothing to see
}

// look looks at the devices until ctx is done. No goroutine waits for it: a driver
// that does not answer keeps its goroutine for good, and nothing else.
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

// letGo waits for the look under way, but not for long: the driver may never
// answer.
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
		l.list = slices.Clone(l.list[len(l.list)-looksKept:]) // what was handed out stays
	}
	l.list = append(l.list, seen...)
}

// merge returns the program's own looks and these, by time, and why there are
// none if so.
func (l *gaugeLog) merge(own []trace.Gauge) ([]trace.Gauge, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		if len(own) > 0 {
			return own, nil
		}
		return nil, l.reason
	}
	all := slices.Concat(own, l.list)
	slices.SortStableFunc(all, func(a, b trace.Gauge) int { return cmp.Compare(a.Time, b.Time) })
	return all, nil
}
