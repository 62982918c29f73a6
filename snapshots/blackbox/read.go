package blackbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/memtop/memtop/snapshots/cause"
	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// Options bound the reading of a box.
type Options struct {
	// Bound bounds the memory of the process; the zero value is wire.DefaultBound.
	Bound trace.Bound
	// Held says that a program still has the file: it has not ended.
	Held bool
}

// Read makes a trace of a box as [ReadAt] does. It first copies the box into
// memory, so that its program may go on writing to it.
func Read(ctx context.Context, r io.Reader, o Options) (*trace.Trace, error) {
	data, err := readAll(r, o.filled().Bound)
	if err != nil {
		return nil, err
	}
	return ReadAt(ctx, bytes.NewReader(data), int64(len(data)), o)
}

// ReadAt makes a trace of a box of that size, which no program may write to
// meanwhile: the state after the last event, and the events in its rings. A
// damaged box is a *[CorruptError]. If the box is cut off, or its newest state is
// damaged, a notice says what is missing. Cancelling ctx makes it return soon,
// with the context's error.
func ReadAt(ctx context.Context, r io.ReaderAt, size int64, o Options) (*trace.Trace, error) {
	o = o.filled()
	b, err := newBox(&window{r: r, size: int(min(size, MostSize+1))})
	if err != nil {
		return nil, err
	}
	there := int64(b.window.size)
	if most := mostOf(o.Bound); there > most {
		return nil, refusal(most, o.Bound)
	}
	v := &reading{box: b, memory: o.Bound.Room(there) - there}
	if err := v.begin(ctx); err != nil {
		return nil, v.bounded(err, o.Bound)
	}
	for place := range b.devices {
		if err := v.device(ctx, place); err != nil {
			return nil, v.bounded(err, o.Bound)
		}
	}
	if err := b.window.err; err != nil {
		return nil, err
	}
	return v.finish(o.Held), nil
}

func (o Options) filled() Options {
	if o.Bound == (trace.Bound{}) {
		o.Bound = wire.DefaultBound
	}
	return o
}

// mostOf is the largest size of a box to read: its events take about as much
// memory as the box.
func mostOf(bound trace.Bound) int64 { return min(MostSize, max(0, bound.Room(MostSize)/2)) }

func refusal(most int64, bound trace.Bound) error {
	return &CorruptError{Offset: most, Reason: bound.Refusal(most), Memory: true}
}

// readAll reads a box, which may be shorter than its header says.
func readAll(r io.Reader, bound trace.Bound) ([]byte, error) {
	most := mostOf(bound)
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, refusal(most, bound)
	}
	return data, err
}

// reading is one call of Read.
type reading struct {
	*box
	memory  int64
	g       generation
	s       *wire.Stream
	based   *trace.Trace // the state of the generation
	older   map[int]past // by device
	ended   trace.Ending
	notices []string
	unnamed int
}

// past is the events before the state of a generation.
type past struct {
	from   int64
	events []trace.Event
}

// bounded turns an error about memory into one that says how to allow more. An
// error of reading the file takes precedence.
func (v *reading) bounded(err error, bound trace.Bound) error {
	if v.window.err != nil {
		return v.window.err
	}
	if damaged := (*wire.CorruptError)(nil); errors.As(err, &damaged) {
		e := &CorruptError{Offset: int64(v.g.at) + damaged.Offset, Reason: damaged.Reason, Memory: damaged.Memory}
		if e.Memory {
			e.Reason = bound.Refusal(int64(v.window.size))
		}
		return e
	}
	return err
}

// begin reads the newest generation that has the state of every device.
func (v *reading) begin(ctx context.Context) error {
	all := v.generations()
	if len(all) == 0 {
		return corrupt(slotsAt, "it holds no state: the program ended while it made the box, or the copy is not whole")
	}
	var err error
	for i, g := range all {
		v.g = g
		var damaged error
		if v.s, damaged, err = wire.ReadFrames(ctx, io.NewSectionReader(v.window, int64(g.at), int64(g.length)), v.memory); err != nil {
			continue
		}
		if err = v.complete(); err != nil {
			continue
		}
		if damaged != nil {
			v.notices = append(v.notices, "the last of what the program wrote beside its events is damaged: "+cause.Of(damaged))
		}
		if i > 0 {
			v.notices = append(v.notices, "the newest state in the box is damaged: this begins with the one before")
		}
		v.older = make(map[int]past)
		return nil
	}
	return err
}

// complete checks that the stream has a state for every device, at the moment of the sums.
func (v *reading) complete() error {
	next, _ := v.s.Place()
	for i, device := range v.devices {
		if at, ok := next[device]; !ok || at != v.g.states[i].Events || at < 0 {
			return corrupt(v.g.at, "the state of device %d is not in it", device)
		}
	}
	v.based = v.s.Trace()
	return nil
}

// device adds the events of a device that came after its state, and keeps those from
// before.
func (v *reading) device(ctx context.Context, place int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	id, state, t := v.devices[place], v.g.states[place], v.tail(place)
	last := trace.LastEvent{Device: id, Events: max(t.sums.Events, state.Events)}
	switch {
	case t.sums.Events < state.Events:
		v.notices = append(v.notices, fmt.Sprintf("the events of device %d are not in the box, or damaged: this is its state at event %d", id, state.Events))
		t.sums, t.from = state, state.Events
	case t.from > state.Events:
		last.Lost = t.sums.Events - state.Events
	default:
		events := t.events(state.Events, t.sums.Events)
		v.unnamed += v.s.Translate(events)
		if err := v.s.Append(id, state.Events, events); err != nil {
			return corrupt(v.ringAt(place), "%s", err)
		}
		before := t.events(t.from, state.Events)
		v.unnamed += v.s.Translate(before)
		v.older[id] = past{t.from, before}
	}
	if raw, ok := v.entry(place, t.sums.Events-1); ok && t.sums.Events > 0 {
		last.Time = eventOf(raw).Time
	}
	last.Requested, last.Reserved = totals(v.based.Device(id))
	last.Requested += t.sums.Requested - state.Requested
	last.Reserved += t.sums.Reserved - state.Reserved
	v.ended.Devices = append(v.ended.Devices, last)
	return nil
}

// totals returns the totals of the final state of a device, which may be nil.
func totals(d *trace.Device) (requested, reserved int64) {
	if d == nil {
		return 0, 0
	}
	for _, b := range d.Final.Live() {
		requested += b.LiveRequested()
	}
	return requested, d.Final.Reserved()
}

// finish makes the trace.
func (v *reading) finish(held bool) *trace.Trace {
	t := v.s.Trace()
	for i := range t.Devices {
		v.prepend(t, &t.Devices[i])
	}
	v.check(t)
	if v.window.size < v.size {
		t.Info.Truncated = true
		v.notices = append([]string{fmt.Sprintf("the box ends after %d of its %d bytes: the copy is not whole", v.window.size, v.size)}, v.notices...)
	}
	if v.unnamed > 0 {
		v.notices = append(v.notices, strconv.Itoa(v.unnamed)+" of the events have stacks or tags that were not written any more when the program ended")
	}
	if v.streamed() {
		v.endings(t)
	}
	t.Notices = append(v.notices, t.Notices...)
	v.say(t, held)
	return t
}

// prepend makes a device begin with the first event of its ring, as a PyTorch
// file does: the final state and the events that led to it. It leaves out events
// that do not lead to the state by the rules of PyTorch's allocator.
func (v *reading) prepend(t *trace.Trace, d *trace.Device) {
	before, ok := v.older[d.ID]
	was := v.based.Device(d.ID)
	if !ok || len(before.events) == 0 || was == nil {
		return
	}
	var log trace.EventLog
	for _, e := range before.events {
		log.Append(e)
	}
	back := trace.Device{ID: d.ID, Events: log.Events(), Final: was.Final}
	r := trace.NewRewinder(&trace.Trace{Tables: t.Tables, Settings: t.Settings}, &back)
	if r.To(-1); r.Problems().Count > 0 {
		v.notices = append(v.notices, fmt.Sprintf("%d earlier events of device %d do not lead to its state by the rules of PyTorch's allocator, and are left out", len(before.events), d.ID))
		return
	}
	for i := range d.Events.Len() {
		log.Append(*d.Events.At(i))
	}
	d.Events, d.First, d.Base, d.Overflowed = log.Events(), before.from, nil, before.from > 0
}

// check compares the totals of the trace with the program's counts.
func (v *reading) check(t *trace.Trace) {
	uncached := trace.NewGeometry(t.Settings).Uncached
	for i := range v.ended.Devices {
		last := &v.ended.Devices[i]
		if uncached { // no event says how much is reserved: it equals the bytes in use
			last.Reserved = last.Requested
		}
		if last.Lost > 0 {
			v.notices = append(v.notices, fmt.Sprintf(
				"the program was too quick for its box: the last %d events of device %d are not here, and its memory is shown as it was before them; at the end %d bytes were in use and %d reserved",
				last.Lost, last.Device, last.Requested, last.Reserved))
			continue
		}
		if requested, reserved := totals(t.Device(last.Device)); requested != last.Requested || reserved != last.Reserved {
			v.notices = append(v.notices, fmt.Sprintf(
				"device %d adds up to %d bytes in use and %d reserved, and the program had counted %d and %d: the state may be wrong",
				last.Device, requested, reserved, last.Requested, last.Reserved))
		}
	}
}

// say notes how the program ended.
func (v *reading) say(t *trace.Trace, held bool) {
	v.ended.Runs, v.ended.Alive = held, v.alive
	reason, bye := v.s.Ended()
	switch {
	case held:
		t.Live.Note = "it still runs: memtop attach " + strconv.Itoa(t.Live.PID)
	case bye:
		v.ended.Goodbye = trace.Printable(reason)
		t.Live.Note = v.ended.Goodbye
	default:
		t.Live.Note = "it ended without a goodbye: it was killed, or crashed"
	}
	t.Live.Ended = &v.ended
}
