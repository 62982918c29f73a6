package pytorchtest

import "github.com/memtop/memtop/snapshots/trace"

// Ring imitates an allocator with a ring buffer of limited size: it makes the
// snapshots that such an allocator would have given of a device of a trace.
type Ring struct {
	Trace  *trace.Trace
	Device *trace.Device
	Size   int
	// Change is what a window makes of an event; nil for nothing.
	Change func(window int, e *trace.Event)
}

// Windows returns snapshots as if taken after the numbers of events in ends,
// which ascend.
func (r *Ring) Windows(ends []int) []*trace.Trace {
	in := trace.NewInterner()
	adopt, f := in.Adopt(r.Trace.Tables), trace.NewFollower(in, 0)
	f.Describe(r.Trace.Info, r.Trace.Settings)
	base, _ := trace.Rewind(r.Trace, r.Device)
	f.Base(r.Device.ID, 0, adopt.State(base), 0, "")
	all, events := make([]*trace.Trace, 0, len(ends)), make([]trace.Event, 0, r.Device.Events.Len())
	for window, end := range ends {
		played := len(events)
		for len(events) < end {
			events = append(events, adopt.Event(r.Device.Events.At(len(events))))
		}
		f.Append(r.Device.ID, events[played:])
		now := f.Publish(nil, nil)
		w := &trace.Trace{Info: r.Trace.Info, Tables: now.Tables, Settings: r.Trace.Settings}
		w.Devices = []trace.Device{{ID: r.Device.ID, Events: r.kept(window, events)}}
		if d := now.Device(r.Device.ID); d != nil { // it has had memory
			w.Devices[0].Final = d.Final
		}
		all = append(all, w)
	}
	return all
}

// kept returns the part of some events that the ring still holds.
func (r *Ring) kept(window int, events []trace.Event) trace.Events {
	var log trace.EventLog
	for _, e := range events[max(0, len(events)-r.Size):] {
		if r.Change != nil {
			r.Change(window, &e)
		}
		log.Append(e)
	}
	return log.Events()
}
