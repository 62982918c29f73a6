package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

func (w *watcher) hello(h *wire.Hello) {
	w.check("stream.hello-first", w.seen[wire.HelloFrame] == 1, "one hello", "a second one")
	w.check("message.hello", h.Version == wire.Version && h.Minor >= 0, "version 1", "version %d, minor version %d", h.Version, h.Minor)
	ascending := slices.IsSorted(h.Devices) && len(slices.Compact(slices.Clone(h.Devices))) == len(h.Devices)
	ok := ascending && len(h.Devices) > 0 && h.Devices[0] >= 0 && h.Devices[len(h.Devices)-1] < protocol.MaxDevices
	w.check("message.hello", ok, "devices, ascending, 0 to 1,023", "%v", h.Devices)
	w.check("message.hello", h.PID > 0 && plausible(h.Started), "a pid and when the program began, in microseconds since 1970",
		"pid %d, started_us %d", h.PID, h.Started)
	interval := min(max(w.asked.interval, protocol.MinInterval), protocol.MaxInterval)
	w.check("stream.interval", h.Interval == int64(interval), fmt.Sprintf("interval_ns %d when %v is asked for", interval, w.asked.interval),
		"interval_ns %d", h.Interval)
}

// plausible reports whether a time can be microseconds since 1970, and not in the
// future. Seconds, milliseconds, nanoseconds and the time since boot cannot.
func plausible(us int64) bool { return us > earliest && us < latestNow() }

// earliest is a time in 2010, in microseconds since 1970. No program with a probe
// is older.
const earliest = 1_262_304_000_000_000

// latestNow is a time slightly in the future, in microseconds since 1970.
func latestNow() int64 { return time.Now().Add(time.Hour).UnixMicro() }

// device checks that hello has announced a device.
func (w *watcher) device(rule string, device int) {
	if h := w.stream.Hello(); h != nil {
		w.check(rule, slices.Contains(h.Devices, device), fmt.Sprint("a device of hello: ", h.Devices), "device %d", device)
	}
}

// resettled notes that bases of all devices must follow.
func (w *watcher) resettled() {
	for device := range w.memory {
		w.unbased[device] = true
	}
}

// stepsKept bounds the steps that are kept for comparison.
const stepsKept = 1 << 12

func (w *watcher) step(s *trace.Step) {
	last, known := w.lastStep[s.Device]
	w.check("message.step", s.Number > 0 && (!known || s.Number > last), "steps from 1 on, ascending", "step %d after step %d", s.Number, last)
	w.lastStep[s.Device] = s.Number
	w.check("message.step", plausible(s.Time) && s.Duration >= 0, "the time of its end, in microseconds since 1970, and how long it took",
		"step %d: time_us %d, duration_ns %d", s.Number, s.Time, s.Duration)
	w.check("message.step", s.PeakAllocated >= s.Allocated && s.PeakReserved >= s.Reserved && s.Allocated >= 0 && s.Reserved >= s.Allocated,
		"0 <= allocated <= reserved, and peaks that are not less",
		"step %d: allocated %d, its peak %d, reserved %d, its peak %d", s.Number, s.Allocated, s.PeakAllocated, s.Reserved, s.PeakReserved)
	w.device("message.step", s.Device)
	if len(w.steps) < stepsKept {
		w.steps[stepOf{s.Device, s.Number}] = *s
	}
}

// stepEnds checks that the message of a step did not arrive before this event,
// its end.
func (w *watcher) stepEnds(device int, number int64) {
	if len(w.counters) > 0 { // the stream begins with earlier steps
		w.check("message.step-after", w.lastStep[device] < number, "a step after its events", "step %d of device %d came before the event of its end", number, device)
	}
}

func (w *watcher) options(list []trace.Option) {
	keys := make(map[string]bool)
	for i := range list {
		o := &list[i]
		w.check("message.options", o.Key != "" && !keys[o.Key], "each key once", "%q again, or empty", o.Key)
		keys[o.Key] = true
		w.check("message.options", o.Free || len(o.Choices) > 0, "choices, or free", "%s has neither", o.Key)
	}
}

func (w *watcher) change(c *trace.Change) {
	const rule = "message.change"
	w.check(rule, c.ID > 0 && c.Key != "" && plausible(c.Time), "an id from 1 on, a key, and when", "id %d, key %q, time_us %d", c.ID, c.Key, c.Time)
	w.check(rule, c.State != trace.Refused || c.Reason != "", "a reason of what was refused", "change %d has none", c.ID)
	w.check(rule, c.State != trace.Applied || c.Step > 0, "the first step that used it", "change %d has none", c.ID)
	if old, known := w.changes[c.ID]; known {
		w.check(rule, old == trace.Pending || old == c.State, "pending, then applied or refused", "change %d is %v after it was %v", c.ID, c.State, old)
	}
	w.changes[c.ID] = c.State
}

func (w *watcher) gauges(list []trace.Gauge) {
	for i := range list {
		g := &list[i]
		w.check("message.gauges", plausible(g.Time) && min(g.Total, g.Used, g.Process, g.Others, g.Utilisation, g.Power) >= -1,
			"when, in microseconds since 1970; -1 for what is not known", "time_us %d, %+v", g.Time, *g)
	}
}

func (w *watcher) count(c wire.Counters) {
	w.check("message.counters", plausible(c.Time), "time_us: now, in microseconds since 1970", "%d", c.Time)
	if n := len(w.counters); n > 0 {
		last := w.counters[n-1]
		w.check("message.counters", c.Dropped >= last.Dropped && c.DroppedSteps >= last.DroppedSteps && c.ProbeNS >= last.ProbeNS && c.Time >= last.Time,
			"sums that never shrink", "%+v, then %+v", last, c)
	}
	if w.seen[wire.SettingsFrame] > 0 {
		w.check("message.settings", len(w.unbased) == 0, "bases of all devices in the same batch", "none of the devices %v", w.unbased)
	}
	if w.counters = append(w.counters, batchEnd{c, w.reading.late()}); len(w.counters) == 1 {
		w.whole()
	}
	w.batched()
}

// lastSteps is how many earlier steps a new stream may have, in addition to one
// of each device.
const lastSteps = 64

// whole checks that the first batch has all that a viewer needs.
func (w *watcher) whole() {
	const rule = "stream.begin"
	h := w.stream.Hello()
	if h == nil {
		return // another check reports that hello is not first
	}
	for _, device := range h.Devices {
		w.check(rule, w.memory[device] != nil || w.seen[wire.SnapshotFrame] > 0, "a base or a snapshot of each device of hello",
			"device %d has neither in the first batch", device)
	}
	if slices.Contains(h.Capabilities, protocol.CapabilityControl) {
		w.check(rule, w.seen[wire.OptionsFrame] > 0, "options, where the program has settings", "none in the first batch")
	}
	steps, most := 0, lastSteps+2*len(h.Devices) // one of each device may have ended before and arrived meanwhile
	for _, s := range w.steps {
		if s.Time < w.opened {
			steps++
		}
	}
	w.check(rule, steps <= most, fmt.Sprintf("at most %d steps of before", most), "%d steps in the first batch", steps)
}
