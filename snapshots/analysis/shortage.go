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
// If a device has several out-of-memory events, the last one counts. A program
// that catches the error, to try a smaller batch or another algorithm, leaves
// events that did no harm. The event that ended the job has none after it,
// because the program then only unwinds. Between devices, the first in time
// counts: after one device has failed, the others run out of memory or stop
// because they need it.
type Shortage struct {
	Device int
	Event  int // the last
	began  int64
}

// String names the device that ran out of memory and the event, without a full
// stop.
func (s Shortage) String() string {
	return fmt.Sprintf("Device %d ran out of memory, at its event %s", s.Device, quantity.Count(s.Event))
}

// Shortages returns the devices that ran out of memory, sorted by the time when
// they did. Devices whose events have no times come last, in the order of the
// trace. It walks over all events.
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

// shortageOf returns the shortage of a device. If the time is not known, began is
// −1, which as an unsigned number is the latest time.
func shortageOf(d *trace.Device) (s Shortage, some bool) {
	for i, e := range d.Events.Range(0, d.Events.Len()) {
		if e.Kind != trace.OOM {
			continue
		}
		if !some {
			s.Device, s.began = d.ID, e.Time
			if e.Absent&trace.NoTime != 0 {
				s.began = -1
			}
		}
		s.Event, some = i, true
	}
	return s, some
}
