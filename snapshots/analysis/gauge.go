package analysis

import (
	"sort"
	"time"

	"github.com/memtop/memtop/snapshots/analysis/card"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Gauges and events
//
// A gauge is a look at the device from outside, and its moment is seldom that of
// an event. Memory outside of the allocator changes seldom, but reserved memory
// changes with every step. So to carry a gauge to the moment of an event, memtop
// adds the change of reserved memory between the two moments, and leaves the rest
// as the gauge saw it.

// idleGauge is how much newer than the last event a gauge must be so that nothing
// happened in between. If the gauge is closer, its event may only not have come
// yet.
const idleGauge = 2 * time.Second

// GaugeAt returns the gauge that a look at the device right after an event would
// have given. It starts from the last gauge before the event, else from the next
// one, and returns nil if there is none. The caller owns the result.
func (x *Index) GaugeAt(event int) *trace.Gauge {
	last := x.trace.LastGauge(x.device.ID)
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

// nearest returns the last gauge of the device up to a moment, else the next one.
// It takes a gauge older than all events only if there is no other, because the
// reserved memory at that time is not known. The device must have had an older
// gauge or have a newer one.
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

// carried returns the gauge carried to the moment right after an event. The
// program uses at least its reserved memory, but for what sleeps: a gauge that says
// less was taken in the middle of a change.
func (x *Index) carried(g trace.Gauge, event int) *trace.Gauge {
	if g.Used < 0 {
		return &g
	}
	slept := card.Asleep(g.Card)
	then := min(x.ReservedAt(x.EventAtTime(g.Time+1)-1), g.Used-max(0, g.Others)+slept)
	if g.Process >= 0 {
		then = min(then, g.Process+slept)
	}
	moved := x.ReservedAt(event) - max(0, then)
	g.Used = max(0, g.Used+moved)
	if g.Process >= 0 {
		g.Process = max(0, g.Process+moved)
	}
	return &g
}
