package pytorchtest

import "memtop/snapshots/trace"

// Ring is what an allocator that keeps so many events would have told of a device
// of a trace, again and again.
type Ring struct {
	Trace  *trace.Trace
	Device *trace.Device
	Size   int
	// Change is what a window makes of an event; nil for nothing.
	Change func(window int, e *trace.Event)
}

// Windows returns the snapshots that would have been taken after so many events
// each, ascending.
func (r *Ring) Windows(ends []int) []*trace.Trace {
	f := trace.NewFollower(internerOf(r.Trace.Tables), 0)
	f.Describe(r.Trace.Info, r.Trace.Settings)
	base, _ := trace.Rewind(r.Trace, r.Device)
	f.Base(r.Device.ID, 0, base, 0, "")
	all, played := make([]*trace.Trace, 0, len(ends)), 0
	for window, end := range ends {
		for ; played < end; played++ {
			f.Append(r.Device.ID, []trace.Event{*r.Device.Events.At(played)})
		}
		now := f.Publish(nil, nil)
		w := &trace.Trace{Info: r.Trace.Info, Tables: now.Tables, Settings: r.Trace.Settings}
		w.Devices = []trace.Device{{ID: r.Device.ID, Events: r.events(window, end), Final: now.Devices[0].Final}}
		all = append(all, w)
	}
	return all
}

// events returns what the ring holds after so many events.
func (r *Ring) events(window, end int) trace.Events {
	var log trace.EventLog
	for i := max(0, end-r.Size); i < end; i++ {
		e := *r.Device.Events.At(i)
		if r.Change != nil {
			r.Change(window, &e)
		}
		log.Append(e)
	}
	return log.Events()
}

// internerOf returns an interner with the tables of t. Its numbers are the same,
// because entries come in the order in which they first came.
func internerOf(t *trace.Tables) *trace.Interner {
	in := trace.NewInterner()
	for _, s := range t.Strings[2:] {
		in.String(s)
	}
	for _, p := range t.Pools[1:] {
		in.Pool(p)
	}
	for _, s := range t.Streams[1:] {
		in.Stream(s)
	}
	for _, f := range t.Frames[1:] {
		in.Frame(f)
	}
	for i := 2; i < t.StackCount(); i++ {
		in.Stack(t.Stack(trace.StackID(i)))
	}
	for _, l := range t.Lists[1:] {
		in.List(l)
	}
	for _, n := range t.Notes[1:] {
		in.Note(n)
	}
	return in
}
