package collector

import (
	"context"
	"slices"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// Look looks at devices of a program from outside. One goroutine calls it at a time.
// Gauges that come with an error are good.
type Look func(p attach.Process, devices []int) ([]trace.Gauge, error)

// glance is one look at the devices of all programs.
type glance struct {
	done chan struct{} // closed when what follows is there
	seen map[string][]trace.Gauge
}

// addGauges adds the gauges of devices that programs have none of themselves, as far as
// they are there in time: a driver that no program uses may take seconds to start. A
// look that comes too late is waited for by the next scrape.
func (c *Collector) addGauges(ctx context.Context, found []attach.Process) {
	if c.look == nil {
		return
	}
	if c.glance == nil {
		c.glance = c.glanceAt(found)
	}
	select {
	case <-c.glance.done:
	case <-ctx.Done():
		return
	}
	for _, p := range found {
		if p.Info != nil {
			p.Info.Gauges = append(p.Info.Gauges, c.glance.seen[p.Socket]...)
		}
	}
	c.glance = nil
}

func (c *Collector) glanceAt(found []attach.Process) *glance {
	g := &glance{make(chan struct{}), make(map[string][]trace.Gauge)}
	found = slices.Clone(found)
	go func() { // ends with the last look
		defer close(g.done)
		for _, p := range found {
			if devices := withoutGauge(p.Info); len(devices) > 0 {
				g.seen[p.Socket], _ = c.look(p, devices) // why there is none is for who attaches
			}
		}
	}()
	return g
}

// withoutGauge returns the devices that a program does not look at itself.
func withoutGauge(i *protocol.Info) []int {
	if i == nil {
		return nil
	}
	var devices []int
	for _, d := range i.Devices[:min(len(i.Devices), maxDevices)] {
		if !slices.ContainsFunc(i.Gauges, func(g trace.Gauge) bool { return g.Device == d.Device }) {
			devices = append(devices, d.Device)
		}
	}
	return devices
}
