package collector

import (
	"context"
	"slices"

	"github.com/memtop/memtop/probe/attach"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
)

// Look reads the gauges of a program's devices, for example from the driver. One
// goroutine calls it at a time. Gauges returned with an error are valid.
type Look func(p attach.Process, devices []int) ([]trace.Gauge, error)

// glance is one reading of the devices of all programs.
type glance struct {
	done chan struct{} // closed when the fields below are set
	seen map[string][]trace.Gauge
}

// addGauges adds gauges for devices whose programs report none, if they arrive in
// time: a driver that no program uses may take seconds to start. The next scrape
// waits for a reading that is late.
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
	go func() { // ends with the last reading
		defer close(g.done)
		for _, p := range found {
			if devices := withoutGauge(p.Info); len(devices) > 0 {
				g.seen[p.Socket], _ = c.look(p, devices) // a viewer that attaches shows why there is none
			}
		}
	}()
	return g
}

// withoutGauge returns the devices without gauges from their program.
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
