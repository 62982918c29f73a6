package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// # Devices that come by snapshots
//
// A snapshot waits until its batch has ended: the steps and tags of the batch
// belong to it. Then it is a window of events, which the follower joins to its
// trace.

// merging holds the snapshot that waits for the end of a batch, and the devices
// that come by snapshots.
type merging struct {
	snapshot *trace.Trace // nil when none waits
	tags     map[int][]trace.Tag
	tagged   int // how many there are
	windowed map[int]bool
	marks    map[int]*marks
	told     map[int]told
}

// told is how many marks of a device came before the waiting snapshot or with it.
type told struct {
	marks int
	with  bool // the step at whose end it was taken is among them
}

// devicesLimit is how many devices are followed.
const devicesLimit = 256

// takeSnapshot reads a snapshot all of which has come.
func (s *Stream) takeSnapshot(parts [][]byte) error {
	s.merge()
	t, err := readSnapshot(parts, s.decoder.limits.Snapshot)
	if err != nil {
		return err
	}
	for i := range t.Devices {
		id := t.Devices[i].ID
		if _, based := s.next[id]; based {
			return &ruleError{"P5", fmt.Sprintf("device %d had a base before", id)}
		}
		if id < 0 || id >= deviceLimit {
			return &ruleError{"P3", fmt.Sprintf("there is no device %d", id)}
		}
		s.merging.windowed[id] = true
	}
	if len(s.merging.windowed)+len(s.next) > devicesLimit {
		return fmt.Errorf("it has more than %d devices", devicesLimit)
	}
	s.merging.snapshot = t
	for id := range s.merging.windowed {
		s.merging.told[id] = told{marks: len(s.merging.marksOf(id).events)}
	}
	return nil
}

// readSnapshot decodes a snapshot of at most that many bytes of memory.
func readSnapshot(parts [][]byte, memory int64) (*trace.Trace, error) {
	readers, total := make([]io.Reader, len(parts)), int64(0)
	for i, part := range parts {
		readers[i] = bytes.NewReader(part)
		total += int64(len(part))
	}
	bound := trace.DefaultBound
	bound.Most = memory
	t, err := pytorch.Decode(context.Background(), io.MultiReader(readers...), pytorch.Options{Bound: bound, Total: total})
	var corrupt *pytorch.CorruptError
	switch {
	case errors.As(err, &corrupt) && corrupt.Memory:
		return nil, tooMuch("it takes more than %d bytes", memory)
	case err != nil:
		return nil, &ruleError{"P2", err.Error()}
	case t.Info.Truncated:
		return nil, &ruleError{"P2", "the pickle is cut off"}
	}
	return t, nil
}

// takeTags applies tags, or keeps them for the snapshot of the same batch.
func (s *Stream) takeTags(device int, tags []trace.Tag) {
	m := &s.merging
	if m.tagged+len(tags) > blocksLimit {
		s.merge()
	}
	if m.snapshot == nil || !m.windowed[device] {
		s.follower.Tag(device, tags)
		return
	}
	m.tags[device] = append(m.tags[device], tags...)
	m.tagged += len(tags)
}

// merge joins the waiting snapshot, if any.
func (s *Stream) merge() {
	m := &s.merging
	t := m.snapshot
	if t == nil {
		return
	}
	m.snapshot = nil
	defer clear(m.told)
	if t.Settings != nil {
		s.settings = t.Settings
		s.describe()
	}
	for _, id := range slices.Sorted(maps.Keys(m.windowed)) {
		d := t.Device(id)
		if d == nil {
			d = &trace.Device{ID: id} // all of its memory is gone
		}
		s.follower.Window(t, d, m.marksOf(id).take(m.told[id].marks, lastTime(d)), m.tags[id])
	}
	s.follower.Pinned(t)
	clear(m.tags)
	m.tagged = 0
}

// add takes a step that ended.
func (s *Stream) add(step *trace.Step) {
	s.steps.add(*step)
	s.step(step)
}

// step makes events of a step, for a device that comes by snapshots or is not
// known yet.
func (s *Stream) step(step *trace.Step) {
	if _, based := s.next[step.Device]; based || step.Device < 0 || step.Device >= deviceLimit {
		return
	}
	m := &s.merging
	if m.marks[step.Device] == nil && len(m.marks) == devicesLimit {
		return
	}
	marks := m.marksOf(step.Device)
	marks.add(step)
	if t, waits := m.told[step.Device]; waits && !t.with {
		m.told[step.Device] = told{len(marks.events), true}
	}
}

func (m *merging) marksOf(device int) *marks {
	if m.marks[device] == nil {
		m.marks[device] = new(marks)
	}
	return m.marks[device]
}

// marks are the events made from the steps of a device. A step begins when the
// last one ends, unless it is the first known step.
type marks struct {
	events []trace.Event
	open   int64 // the number of the step that has begun, 0 for none
	last   int64 // the number of the last ended step
}

// marksKept is how many wait at most.
const marksKept = 1024

func (m *marks) add(step *trace.Step) {
	if step.Number <= m.last {
		return // an earlier stream had it
	}
	if m.open != step.Number {
		m.mark(trace.StepBegin, step.Number, step.Time-step.Duration/1000)
	}
	m.mark(trace.StepEnd, step.Number, step.Time)
	m.mark(trace.StepBegin, step.Number+1, step.Time)
	m.last, m.open = step.Number, step.Number+1
	m.events = keep(m.events, marksKept)
}

func (m *marks) mark(kind trace.Kind, number, time int64) {
	if n := len(m.events); n > 0 {
		time = max(time, m.events[n-1].Time)
	}
	m.events = append(m.events, trace.Event{Kind: kind, Size: number, Time: time, Stack: trace.EmptyStack})
}

// take returns the waiting events that a snapshot knows of, and forgets them: those
// that came before it, the step that came right after it, and those of a time up to
// its last event. What came later waits for the next one, because memory may have
// changed meanwhile.
func (m *marks) take(told int, last int64) []trace.Event {
	n := min(told, len(m.events))
	for n < len(m.events) && m.events[n].Time <= last {
		n++
	}
	events := m.events[:n]
	m.events = slices.Clone(m.events[n:])
	return events
}

// lastTime returns the time of a device's last event. Without one that has a time,
// nothing says what came later.
func lastTime(d *trace.Device) int64 {
	if n := d.Events.Len(); n > 0 {
		if e := d.Events.At(n - 1); e.Absent&trace.NoTime == 0 {
			return e.Time
		}
	}
	return math.MaxInt64
}
