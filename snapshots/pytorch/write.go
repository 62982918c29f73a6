package pytorch

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/memtop/memtop/snapshots/pickle"

	"github.com/memtop/memtop/snapshots/trace"
)

// writeDevices bounds how many lists of events Write makes: PyTorch has one
// for every device up to the last, and a trace may number its devices freely.
const writeDevices = 1 << 16

// Write writes t as PyTorch writes a snapshot: a pickle of protocol 4 that
// pickle.load and memory_viz read. Keys are in PyTorch's order, and only the keys
// that t was given are written, so a snapshot that was read gives the same Python
// value again. Our own keys hold what PyTorch cannot express: layer, role, shape,
// dtype and noted_category. See "Categories and PyTorch's viewer".
//
// It streams; beside t it needs a few bytes for every string, frame and stack.
func Write(w io.Writer, t *trace.Trace) error {
	p := &pickler{
		w: w, t: t, buf: make([]byte, 0, flushAt+flushAt/4),
		strings: make([]uint32, len(t.Tables.Strings)),
		frames:  make([]uint32, len(t.Tables.Frames)),
		stacks:  make([]uint32, t.Tables.StackCount()),
		pools:   make([]uint32, len(t.Tables.Pools)),
		lists:   make([]uint32, len(t.Tables.Lists)),
		values:  make(map[string]uint32),

		categories: newCategories(t),
	}
	p.op(pickle.Proto, 4)
	if err := p.top(); err != nil {
		return fmt.Errorf("writing a snapshot: %w", err)
	}
	p.op(pickle.Stop)
	p.flush()
	if p.err != nil {
		return fmt.Errorf("writing a snapshot: %w", p.err)
	}
	return nil
}

// top writes the top level: a dict, or a bare list if it was one.
func (p *pickler) top() error {
	if p.t.Info.List && p.eventCount() == 0 {
		p.segments()
		return nil
	}
	lists := p.t.Info.TraceLists
	for i := range p.t.Devices {
		if d := &p.t.Devices[i]; d.Events.Len() > 0 || !p.t.Info.NoTraces && p.t.Info.TraceLists == 0 {
			lists = max(lists, d.ID+1)
		}
	}
	if lists > writeDevices || len(p.t.Devices) > 0 && p.t.Devices[0].ID < 0 && p.t.Devices[0].Events.Len() > 0 {
		return errors.New("a device's number is out of range")
	}
	p.op(pickle.EmptyDict, pickle.Mark)
	p.key(nameSegments)
	p.segments()
	if !p.t.Info.NoTraces || lists > 0 {
		p.key(nameDeviceTraces)
		p.list(lists, p.deviceTrace)
	}
	if p.t.Settings != nil {
		p.key(nameAllocatorSettings)
		if err := p.settings(p.t.Settings, 0); err != nil {
			return err
		}
	}
	if p.t.Annotations != nil {
		p.key(nameExternalAnnotations)
		p.list(len(p.t.Annotations), func(i int) { p.annotation(&p.t.Annotations[i]) })
	}
	if d := p.t.Pinned; d != nil {
		p.key(nameHostSegments)
		p.list(len(d.Final.Segments), func(i int) { p.segment(&d.Final.Segments[i]) })
		p.key(nameHostTraces)
		p.list(d.Events.Len(), func(i int) { p.event(d.Events.At(i), d.Events.At(i).Note) })
	}
	p.op(pickle.SetItems)
	return nil
}

func (p *pickler) eventCount() int {
	n := 0
	for i := range p.t.Devices {
		n += p.t.Devices[i].Events.Len()
	}
	return n
}

// segments writes the segments of all devices, one device after the other.
func (p *pickler) segments() {
	var all []*trace.Segment
	for i := range p.t.Devices {
		d := &p.t.Devices[i]
		for s := range d.Final.Segments {
			all = append(all, &d.Final.Segments[s])
		}
	}
	p.list(len(all), func(i int) { p.segment(all[i]) })
}

// deviceTrace writes the events of one device, none if the trace has no such
// device.
func (p *pickler) deviceTrace(id int) {
	at := slices.IndexFunc(p.t.Devices, func(d trace.Device) bool { return d.ID == id })
	if at < 0 {
		p.op(pickle.EmptyList)
		return
	}
	events := p.t.Devices[at].Events
	n := events.Len()
	if p.categories.last == at {
		n++
	}
	p.list(n, func(i int) {
		e := &trace.Event{Kind: trace.Snapshot, Absent: trace.NoTime}
		if i < events.Len() {
			e = events.At(i)
		}
		p.event(e, p.categories.of(at, i, e))
	})
}

// settings writes a dict, which is not memoized: settings are few.
func (p *pickler) settings(settings []trace.Setting, depth int) error {
	p.op(pickle.EmptyDict, pickle.Mark)
	for _, s := range settings {
		p.text(s.Key)
		if err := p.value(s.Value, depth+1); err != nil {
			return fmt.Errorf("setting %q: %w", s.Key, err)
		}
	}
	p.op(pickle.SetItems)
	return nil
}

func (p *pickler) value(v any, depth int) error {
	if depth > 100 {
		return errors.New("nested more than 100 deep")
	}
	switch v := v.(type) {
	case nil:
		p.op(pickle.None)
	case bool:
		p.boolean(v)
	case int64:
		p.integer(v)
	case uint64:
		p.unsigned(v)
	case float64:
		p.float(v)
	case string:
		p.text(v)
	case []trace.Setting:
		return p.settings(v, depth)
	case []any:
		p.op(pickle.EmptyList, pickle.Mark)
		for _, item := range v {
			if err := p.value(item, depth+1); err != nil {
				return err
			}
		}
		p.op(pickle.Appends)
	default:
		return fmt.Errorf("a %T cannot be pickled", v)
	}
	return nil
}
