package pytorchtest

import "github.com/memtop/memtop/snapshots/trace"

// Layout says which fields the snapshots of one version of PyTorch have. Version
// 210 is 2.10.
type Layout struct {
	Name    string
	Version int
	// NoPool and NoTime say that the writer omits these whatever its version.
	NoPool, NoTime bool
}

// Layouts are all different layouts, the oldest first, then those of other
// devices.
var Layouts = []Layout{
	{Name: "1.13", Version: 113},
	{Name: "2.0", Version: 200},
	{Name: "2.1", Version: 201},
	{Name: "2.2", Version: 202},
	{Name: "2.3", Version: 203},
	{Name: "2.5", Version: 205},
	{Name: "2.8", Version: 208},
	{Name: "2.9", Version: 209},
	{Name: "2.10", Version: 210},
	{Name: "2.12", Version: 212},
	{Name: "2.13", Version: 213},
	{Name: "2.14", Version: 214},
	{Name: "2.15", Version: 215},
	{Name: "xpu", Version: 211, NoPool: true, NoTime: true},
	{Name: "npu", Version: 201, NoPool: true, NoTime: true},
}

// Strip returns t with only the fields that the layout's writer writes. In 1.13
// and 2.0, the other fields of a block are in its history.
func (l Layout) Strip(t *trace.Trace) *trace.Trace {
	out := *t
	tables := *t.Tables
	out.Tables = &tables
	notes := l.notes(&tables)
	if l.Version < 210 {
		tables.FrameFX = nil
	}
	out.Devices = nil
	for _, d := range t.Devices {
		d.Events = l.events(d.Events, notes)
		d.Final = l.state(d.Final)
		d.Overflowed, d.MaxEvents = l.Version >= 212, 0
		if d.Overflowed {
			d.MaxEvents = 100_000
		}
		if len(d.Final.Segments) > 0 || d.Events.Len() > 0 {
			out.Devices = append(out.Devices, d)
		}
	}
	out.Settings = l.settings(t.Settings)
	if l.Version < 205 {
		out.Annotations = nil
	}
	if t.Pinned != nil && l.Version >= 214 && !l.NoPool {
		pinned := *t.Pinned
		pinned.Events = l.events(pinned.Events, notes)
		out.Pinned = &pinned
	} else {
		out.Pinned = nil
	}
	if l.Version < 200 {
		out.Info.List, out.Info.NoTraces, out.Info.TraceLists = true, true, 0
	}
	return &out
}

// notes removes from the notes what the version does not write, and returns for
// every note its new number.
func (l Layout) notes(tables *trace.Tables) []trace.NoteID {
	moved := make([]trace.NoteID, len(tables.Notes))
	ids := map[trace.Note]trace.NoteID{}
	var notes []trace.Note
	for i, n := range tables.Notes {
		if l.Version < 208 || l.NoTime {
			n.CompileContext = 0
		}
		if l.Version < 210 {
			n.UserMetadata = 0
		}
		if l.Version < 212 || l.NoPool {
			n.Pool = 0
		}
		if l.Version < 212 {
			n.Forward = 0
		}
		if l.Version < 215 {
			n.Internal = 0
		}
		if _, ok := ids[n]; !ok {
			ids[n] = trace.NoteID(len(notes))
			notes = append(notes, n)
		}
		moved[i] = ids[n]
	}
	tables.Notes = notes
	return moved
}

func (l Layout) events(events trace.Events, notes []trace.NoteID) trace.Events {
	var log trace.EventLog
	for i := range events.Len() {
		e := *events.At(i)
		mapped := e.Kind == trace.SegmentMap || e.Kind == trace.SegmentUnmap
		if l.Version < 200 || e.Kind == trace.Annotate && l.Version < 214 || mapped && l.Version < 201 {
			continue
		}
		e.Note = notes[e.Note]
		if l.Version < 202 || l.NoTime {
			e.Time = 0
			e.Absent |= trace.NoTime
		}
		log.Append(e)
	}
	return log.Events()
}

func (l Layout) state(state trace.State) trace.State {
	segments := make([]trace.Segment, len(state.Segments))
	for i, s := range state.Segments {
		if l.Version < 200 {
			s.Given &^= trace.GaveRequested
			s.Requested = 0
		}
		if l.Version < 201 {
			s.Given &^= trace.GaveExpandable
			s.Expandable = false
			s.Stack = 0
		} else {
			s.Stack = max(s.Stack, trace.EmptyStack)
		}
		if l.Version < 201 || l.NoPool {
			s.Pool = 0
		}
		blocks := make([]trace.Block, len(s.Blocks))
		for k, b := range s.Blocks {
			blocks[k] = l.block(b, k)
		}
		s.Blocks = blocks
		segments[i] = s
	}
	return trace.State{Segments: segments}
}

func (l Layout) block(b trace.Block, k int) trace.Block {
	if l.Version >= 201 {
		return b
	}
	b.Given &^= trace.GaveAddr
	if b.State != trace.Inactive || k%2 == 1 {
		tenant := trace.Tenant{Addr: b.Addr, Requested: b.Requested, Stack: b.Stack}
		if b.State == trace.Inactive {
			tenant.Requested = b.Size / 2
		}
		b.Given |= trace.GaveHistory
		b.History = []trace.Tenant{tenant}
		if b.State == trace.Inactive && b.Size >= 1024 {
			b.History = append(b.History, trace.Tenant{Addr: b.Addr + 512, Requested: 1, Stack: b.Stack})
		}
	}
	b.Stack = 0
	if l.Version < 200 {
		b.Given &^= trace.GaveRequested
		b.Requested = 0
	}
	return b
}

func (l Layout) settings(settings []trace.Setting) []trace.Setting {
	if l.Version < 203 {
		return nil
	}
	var out []trace.Setting
	for _, s := range settings {
		if s.Key != "graph_capture_record_stream_reuse" || l.Version >= 209 {
			out = append(out, s)
		}
	}
	if l.Version >= 213 {
		out = append(out, trace.Setting{Key: "max_round_threshold", Value: int64(-1)}, trace.Setting{Key: "max_cached_size", Value: int64(-1)})
	}
	if l.Version >= 212 {
		out = append(out,
			trace.Setting{Key: "trace_alloc_max_entries", Value: int64(100_000)},
			trace.Setting{Key: "trace_alloc_overflowed", Value: true})
	}
	return out
}
