package analysis

import (
	"sort"
	"time"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Gauges and events
//
// A look at the device from outside is of its own moment, events are of theirs.
// What is outside of the allocator moves seldom, what is reserved moves with every
// step, so a look is carried to another moment by what was reserved then and is
// reserved there: whatever it says beyond that stays as it was seen.

// idleGauge is by how much a look must be newer than the last event to say that
// nothing happened in between, rather than that its event has not come yet.
const idleGauge = 2 * time.Second

// GaugeAt returns what a look at the device right after an event would have shown,
// by the last look before it, else by the next one; nil when there was none. The
// caller owns it.
func (x *Index) GaugeAt(event int) *trace.Gauge {
	last := lastGauge(x.trace, x.device.ID)
	if last == nil {
		return nil
	}
	if !x.Timed() || last.Time == 0 {
		g := *last
		return &g
	}
	event = x.clamp(event)
	now := x.events.At(max(event, 0)).Time
	if event == x.End() && last.Time-now > idleGauge.Microseconds() {
		return x.carried(*last, event)
	}
	return x.carried(*x.nearest(now), event)
}

// nearest returns the last look at the device that is no newer than a moment, else
// the next one. Looks older than all events count only where there is no other:
// what was reserved then is not known. There must be one.
func (x *Index) nearest(now int64) *trace.Gauge {
	all, begin := x.trace.Live.Gauges, x.events.At(0).Time
	next := sort.Search(len(all), func(k int) bool { return all[k].Time > now })
	var older *trace.Gauge
	for k := next - 1; k >= 0 && older == nil; k-- {
		if all[k].Device == x.device.ID {
			older = &all[k]
		}
	}
	if older != nil && older.Time >= begin {
		return older
	}
	for k := next; k < len(all); k++ {
		if all[k].Device == x.device.ID {
			return &all[k]
		}
	}
	return older
}

// carried returns what a look would have shown right after an event. The program
// uses at least what it has reserved: a look that says less was taken in the
// middle of a change.
func (x *Index) carried(g trace.Gauge, event int) *trace.Gauge {
	if g.Used < 0 {
		return &g
	}
	then := min(x.ReservedAt(x.EventAtTime(g.Time+1)-1), g.Used-max(0, g.Others))
	if g.Process >= 0 {
		then = min(then, g.Process)
	}
	moved := x.ReservedAt(event) - max(0, then)
	g.Used = max(0, g.Used+moved)
	if g.Process >= 0 {
		g.Process = max(0, g.Process+moved)
	}
	return &g
}

// lastGauge returns the last look at a device that is known, nil when there is none.
func lastGauge(t *trace.Trace, device int) *trace.Gauge {
	if t.Live == nil {
		return nil
	}
	for i := len(t.Live.Gauges) - 1; i >= 0; i-- {
		if t.Live.Gauges[i].Device == device {
			return &t.Live.Gauges[i]
		}
	}
	return nil
}
