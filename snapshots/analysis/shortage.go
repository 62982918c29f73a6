package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// Shortage is a device that ran out of memory.
//
// Of several events the last counts as the one to look at. A program that
// catches the error, to try a smaller batch or another algorithm, leaves events
// that did it no harm; the one that ended the job has none after it, because
// what follows is only the unwinding. Between devices the first in time counts:
// once one has failed, the others run out or stop for want of it.
type Shortage struct {
	Device int
	Event  int // the last
	began  int64
}

// String says which device ran out and where, without a full stop.
func (s Shortage) String() string {
	return fmt.Sprintf("Device %d ran out of memory, at its event %s", s.Device, quantity.Count(s.Event))
}

// Shortages returns the devices that ran out of memory, the one that did first
// before the others. Those whose events have no times come last, in their order
// in the trace. It walks over all events.
func Shortages(t *trace.Trace) []Shortage {
	var found []Shortage
	for i := range t.Devices {
		if s, ok := shortageOf(&t.Devices[i]); ok {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b Shortage) int { return cmp.Compare(uint64(a.began), uint64(b.began)) })
	return found
}

// shortageOf has a device began at −1, which as an unsigned number is the latest
// time, where that is not known.
func shortageOf(d *trace.Device) (s Shortage, some bool) {
	for i := 0; i < d.Events.Len(); {
		span := d.Events.Span(i)
		for j := range span {
			if span[j].Kind != trace.OOM {
				continue
			}
			if !some {
				s.Device, s.began = d.ID, span[j].Time
				if span[j].Absent&trace.NoTime != 0 {
					s.began = -1
				}
			}
			s.Event, some = i+j, true
		}
		i += len(span)
	}
	return s, some
}
