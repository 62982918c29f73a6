package pytorchtest

import "github.com/memtop/memtop/snapshots/trace"

// A Python value is nil, a bool, int64, uint64, float64, string or [Fresh], a
// Tuple, *List or *Dict, or [Raw]. Lists and dicts are shared when the pointer is.
type (
	// Tuple is a Python tuple.
	Tuple []any
	// List is a Python list.
	List struct{ Items []any }
	// Dict is a Python dict, in order.
	Dict struct{ Items []Item }
	// Item is one entry of a dict.
	Item struct{ Key, Value any }
	// Fresh is a string that is an object of its own; other equal strings are
	// one object.
	Fresh string
	// Raw is a value in the encoding's own bytes, whatever they are.
	Raw string
)

func (d *Dict) set(key string, value any) { d.Items = append(d.Items, Item{key, value}) }

func (d *Dict) setIf(given bool, key string, value any) {
	if given {
		d.set(key, value)
	}
}

// Value returns the Python value that PyTorch would make of t, with its sharing
// of objects and its order of keys. It shares no code with pytorch.Write, with
// which it is compared.
func Value(t *trace.Trace) any {
	b := &builder{t: t, stacks: map[trace.StackID]*List{}, frames: map[trace.FrameID]*Dict{}}
	segments := &List{}
	for _, d := range t.Devices {
		for i := range d.Final.Segments {
			segments.Items = append(segments.Items, b.segment(&d.Final.Segments[i]))
		}
	}
	if t.Info.List {
		return segments
	}
	top := &Dict{}
	top.set("segments", segments)
	if !t.Info.NoTraces {
		lists := &List{}
		for id := range t.Info.TraceLists {
			lists.Items = append(lists.Items, b.events(id))
		}
		top.set("device_traces", lists)
	}
	top.setIf(t.Settings != nil, "allocator_settings", setting(t.Settings))
	if t.Annotations != nil {
		list := &List{}
		for i := range t.Annotations {
			list.Items = append(list.Items, b.annotation(&t.Annotations[i]))
		}
		top.set("external_annotations", list)
	}
	if d := t.Pinned; d != nil {
		segments, events := &List{}, &List{}
		for i := range d.Final.Segments {
			segments.Items = append(segments.Items, b.segment(&d.Final.Segments[i]))
		}
		for i := range d.Events.Len() {
			events.Items = append(events.Items, b.event(d.Events.At(i)))
		}
		top.set("host_segments", segments)
		top.set("host_traces", events)
	}
	return top
}

type builder struct {
	t      *trace.Trace
	stacks map[trace.StackID]*List
	frames map[trace.FrameID]*Dict
}

func (b *builder) text(id trace.StringID) string { return b.t.Tables.Strings[id] }

func (b *builder) events(device int) *List {
	list := &List{}
	if d := b.t.Device(device); d != nil {
		for i := range d.Events.Len() {
			list.Items = append(list.Items, b.event(d.Events.At(i)))
		}
	}
	return list
}

func (b *builder) event(e *trace.Event) *Dict {
	d := &Dict{}
	n := b.t.Tables.Notes[e.Note]
	if e.Kind == trace.Other {
		d.set("action", b.text(n.Action))
	} else {
		d.set("action", e.Kind.String())
	}
	if e.Kind == trace.OOM {
		d.setIf(e.Absent&trace.NoAddr == 0, "device_free", e.Addr)
	} else {
		d.setIf(e.Absent&trace.NoAddr == 0, "addr", e.Addr)
	}
	d.setIf(e.Absent&trace.NoSize == 0, "size", e.Size)
	d.setIf(e.Absent&trace.NoStream == 0, "stream", b.t.Tables.Streams[e.Stream])
	d.setIf(e.Absent&trace.NoTime == 0, "time_us", e.Time)
	d.setIf(n.CompileContext != 0, "compile_context", Fresh(b.text(n.CompileContext)))
	d.setIf(n.UserMetadata != 0, "user_metadata", Fresh(b.text(n.UserMetadata)))
	d.setIf(n.Internal != 0, "internal_metadata", Fresh(b.text(n.Internal)))
	if n.Pool != 0 {
		d.set("pool_id", b.pool(n.Pool))
	}
	b.tags(d, n)
	if e.Stack != 0 {
		d.set("frames", b.stack(e.Stack))
	}
	if n.Forward != 0 {
		lines := &List{}
		for _, id := range b.t.Tables.Lists[n.Forward] {
			lines.Items = append(lines.Items, Fresh(b.text(id)))
		}
		d.set("forward_frames", lines)
	}
	return d
}

// tags sets the keys that only our own engine writes.
func (b *builder) tags(d *Dict, n trace.Note) {
	d.setIf(n.Category != 0, "category", b.text(n.Category))
	d.setIf(n.Layer != 0, "layer", b.text(n.Layer))
	d.setIf(n.Role != 0, "role", b.text(n.Role))
	d.setIf(n.Shape != 0, "shape", b.text(n.Shape))
	d.setIf(n.DType != 0, "dtype", b.text(n.DType))
}

func (b *builder) pool(id trace.PoolID) Tuple {
	p := b.t.Tables.Pools[id]
	return Tuple{p[0], p[1]}
}

func (b *builder) segment(s *trace.Segment) *Dict {
	d := &Dict{}
	d.setIf(s.Given&trace.GaveDevice != 0, "device", int64(s.Device))
	d.setIf(s.Given&trace.GaveAddr != 0, "address", s.Addr)
	d.setIf(s.Given&trace.GaveSize != 0, "total_size", s.Size)
	d.setIf(s.Given&trace.GaveAllocated != 0, "allocated_size", s.Allocated)
	d.setIf(s.Given&trace.GaveActive != 0, "active_size", s.Active)
	d.setIf(s.Given&trace.GaveRequested != 0, "requested_size", s.Requested)
	d.setIf(s.Given&trace.GaveStream != 0, "stream", b.t.Tables.Streams[s.Stream])
	d.setIf(s.Type != 0, "segment_type", b.text(s.Type))
	d.setIf(s.Pool != 0, "segment_pool_id", b.pool(s.Pool))
	d.setIf(s.Given&trace.GaveExpandable != 0, "is_expandable", s.Expandable)
	if s.Stack != 0 {
		d.set("frames", b.stack(s.Stack))
	}
	blocks := &List{}
	for i := range s.Blocks {
		blocks.Items = append(blocks.Items, b.block(&s.Blocks[i]))
	}
	d.set("blocks", blocks)
	return d
}

func (b *builder) block(k *trace.Block) *Dict {
	d := &Dict{}
	d.setIf(k.Given&trace.GaveAddr != 0, "address", k.Addr)
	d.setIf(k.Given&trace.GaveSize != 0, "size", k.Size)
	d.setIf(k.Given&trace.GaveRequested != 0, "requested_size", k.Requested)
	d.setIf(k.Given&trace.GaveState != 0, "state", k.State.String())
	if k.Stack != 0 {
		d.set("frames", b.stack(k.Stack))
	}
	if k.Given&trace.GaveHistory != 0 {
		history := &List{}
		for _, h := range k.History {
			entry := &Dict{}
			entry.set("addr", h.Addr)
			entry.set("real_size", h.Requested)
			if h.Stack != 0 {
				entry.set("frames", b.stack(h.Stack))
			}
			history.Items = append(history.Items, entry)
		}
		d.set("history", history)
	}
	b.tags(d, b.t.Tables.Notes[k.Note])
	return d
}

// stack returns the list of a stack. An empty stack is a new list each time.
func (b *builder) stack(id trace.StackID) *List {
	if l := b.stacks[id]; l != nil {
		return l
	}
	l := &List{}
	for _, f := range b.t.Tables.Stack(id) {
		l.Items = append(l.Items, b.frame(f))
	}
	if len(l.Items) > 0 {
		b.stacks[id] = l
	}
	return l
}

func (b *builder) frame(id trace.FrameID) *Dict {
	if d := b.frames[id]; d != nil {
		return d
	}
	f, d := b.t.Tables.Frames[id], &Dict{}
	d.set("name", b.text(f.Name))
	d.set("filename", b.text(f.File))
	d.set("line", uint64(int64(f.Line)))
	if fx, ok := b.t.Tables.FrameFX[id]; ok {
		x := b.t.Tables.FX[fx]
		d.setIf(x.Op != 0, "fx_node_op", b.text(x.Op))
		d.setIf(x.NodeName != 0, "fx_node_name", b.text(x.NodeName))
		d.setIf(x.Target != 0, "fx_node_target", b.text(x.Target))
		d.setIf(x.OriginalTrace != 0, "fx_original_trace", b.text(x.OriginalTrace))
		d.setIf(x.Info != 0, "fx_node_info", b.text(x.Info))
	}
	b.frames[id] = d
	return d
}

func (b *builder) annotation(a *trace.Annotation) *Dict {
	d := &Dict{}
	d.set("name", Fresh(b.text(a.Name)))
	d.set("stage", b.text(a.Stage))
	d.set("device", int64(a.Device))
	d.set("time_us", a.Time)
	return d
}

func setting(v any) any {
	switch v := v.(type) {
	case []trace.Setting:
		d := &Dict{}
		for _, s := range v {
			d.set(s.Key, setting(s.Value))
		}
		return d
	case []any:
		l := &List{}
		for _, item := range v {
			l.Items = append(l.Items, setting(item))
		}
		return l
	default:
		return v
	}
}
