package blackbox

import (
	"slices"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Boxes without rings
//
// A program in a slow language counts its memory at the end of some steps, and
// looks at what holds it more rarely. It has no events to keep in a ring, so its
// box has none: a slot is the stream that a viewer would have had. The state in it
// is that of the last look, and the steps go on after it.

// streamed reports whether the box has no rings.
func (v *reading) streamed() bool { return v.layout.devices == 0 }

// endings says how the memory of each device was at the end. A device at whose
// memory the program never looked gets an empty state, so that there is a place
// for its steps.
func (v *reading) endings(t *trace.Trace) {
	uncached := trace.NewGeometry(t.Settings).Uncached
	t.Devices = slices.Clone(t.Devices)
	for _, id := range v.s.Hello().Devices {
		at, looked := slices.BinarySearchFunc(t.Devices, id, func(d trace.Device, id int) int { return d.ID - id })
		if !looked {
			t.Devices = slices.Insert(t.Devices, at, trace.Device{ID: id})
		}
		v.ended.Devices = append(v.ended.Devices, ending(t, &t.Devices[at], looked, uncached))
	}
	if len(v.ended.Devices) == 0 { // the program said that it has none, which is against the protocol
		v.notices = append(v.notices, "the program said nothing about a device")
	}
}

// ending returns the end of a device: what the last step says of its memory if
// that is newer than the last look, and counts as much: without a caching
// allocator a step counts only what its optimizer holds, and a look all tensors.
func ending(t *trace.Trace, d *trace.Device, looked, uncached bool) trace.LastEvent {
	last := trace.LastEvent{Device: d.ID, Requested: trace.Unknown, Reserved: trace.Unknown, Looked: trace.Unknown}
	if looked {
		last.Events, last.Looked = d.First+int64(d.Events.Len()), 0
		last.Requested, last.Reserved = totals(d)
	}
	if n := d.Events.Len(); n > 0 {
		last.Time = d.Events.At(n - 1).Time
	}
	step := t.LastStep(d.ID)
	if step == nil || step.Time <= last.Time {
		return last
	}
	if looked {
		last.Looked = last.Time
	}
	last.Time = step.Time
	if counted := t.LastStepThat(d.ID, func(s *trace.Step) bool { return s.Allocated > 0 }); counted != nil && !(looked && (uncached || counted.Time <= last.Looked)) {
		last.Requested, last.Reserved = counted.Allocated, counted.Reserved
	}
	return last
}
