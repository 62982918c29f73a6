package trace

// Rewind undoes all events of device d of t and returns the state before the
// first one. The problems of the newest events come first. A whole file that was
// not edited has none. For other files, the state is the best that can be known.
func Rewind(t *Trace, d *Device) (State, Problems) {
	r := NewRewinder(t, d)
	r.To(-1)
	return r.State(), r.Problems()
}

// Rewinder walks a device's events backwards from its final state and undoes
// each. Undoing an alloc removes its block, undoing a free_completed restores the
// block as pending free, and undoing a free_requested makes the block allocated
// again. Segment events are undone likewise. A Rewinder is owned by one
// goroutine.
//
// A freed block comes back with the stack and the note of the event that freed
// it, because the trace has no others at this point. [Lifetimes] has the stack
// and the note of the allocation. The block's real size is computed from the
// allocator's rules, see "Sizes of blocks" in rewind_state.go.
type Rewinder struct {
	segmentRewinder
	device   *Device
	at       int
	live     orderedIDs // by address: index into blocks
	blocks   []Block
	unused   []int32 // entries of blocks that may be used again
	problems Problems
	back     int32 // the block that came back last, or -1; the next event is usually about it
	geometry Geometry
}

// NewRewinder returns a rewinder that stands at the end of the device's trace.
func NewRewinder(t *Trace, d *Device) *Rewinder {
	r := &Rewinder{
		segmentRewinder: newSegmentRewinder(t, d), device: d, at: d.Events.Len() - 1, back: -1, geometry: NewGeometry(t.Settings),
	}
	for i := range d.Final.Segments {
		s := &d.Final.Segments[i]
		if !r.put(*s) {
			r.problem(r.at+1, "segment %#x of %d bytes overlaps another or is empty", s.Addr, s.Size)
			continue
		}
		for _, b := range s.Blocks {
			if b.State.Live() {
				r.addBlock(b)
			}
		}
	}
	return r
}

// Problems returns the problems met so far.
func (r *Rewinder) Problems() Problems { return r.problems }

// To undoes events until the state is the one right after event at. It cannot
// go forward.
func (r *Rewinder) To(at int) {
	for ; r.at > at && r.at >= 0; r.at-- {
		r.undo(r.device.Events.At(r.at))
	}
}

func (r *Rewinder) undo(e *Event) {
	switch e.Kind {
	case Alloc:
		r.undoAlloc(e)
	case FreeCompleted:
		r.undoFree(e, PendingFree)
	case Free:
		r.undoFree(e, Allocated)
	case FreeRequested:
		r.undoRequest(e)
	case SegmentAlloc, SegmentFree, SegmentMap, SegmentUnmap:
		r.undoSegment(e)
	default: // the rest changes no memory
	}
}

func (r *Rewinder) problem(event int, format string, values ...any) {
	r.problems.Add(r.device.ID, event, format, values...)
}

// addBlock makes b live and reports whether its address was free.
func (r *Rewinder) addBlock(b Block) bool {
	if _, taken := r.live.get(b.Addr); taken {
		return false
	}
	id := int32(len(r.blocks))
	if n := len(r.unused); n > 0 {
		id, r.unused = r.unused[n-1], r.unused[:n-1]
		r.blocks[id] = b
	} else {
		r.blocks = append(r.blocks, b)
	}
	r.live.put(b.Addr, id)
	r.back = id
	return true
}

func (r *Rewinder) undoAlloc(e *Event) {
	id, ok := r.live.remove(e.Addr)
	if !ok {
		r.problem(r.at, "alloc of %d bytes at %#x, which is not live afterwards", e.Size, e.Addr)
		return
	}
	if b := &r.blocks[id]; b.LiveRequested() != e.Size && b.Given&GaveRequested != 0 {
		r.problem(r.at, "alloc of %d bytes at %#x, which later has %d", e.Size, e.Addr, b.LiveRequested())
	}
	r.unused = append(r.unused, id)
	if id == r.back {
		r.back = -1
	}
	if r.geometry.Uncached {
		if s := r.segmentAt(e.Addr); s != nil && s.Addr == e.Addr && s.Size == e.Size {
			r.removeSegment(e.Addr)
		}
		return
	}
	r.learn(e.Addr)
}

// learn finds the size of the block before addr, the address of an allocation
// that is being undone. That allocation took the front of a free block, and
// directly before a free block is the end of a live block.
func (r *Rewinder) learn(addr uint64) {
	id, ok := r.live.floor(addr)
	if !ok {
		return
	}
	b := &r.blocks[id]
	rest := int64(addr-b.Addr) - b.Size
	if rest <= 0 || b.Given&(GaveState|GaveSize) != 0 {
		return
	}
	if s := r.segmentAt(addr); s != nil && s.Addr <= b.Addr && !r.geometry.Cuts(r.names.cutFinely(&r.geometry, &s.Segment), b.Size, rest) {
		b.Size += rest
		b.Given |= GaveSize
	}
}

func (r *Rewinder) undoFree(e *Event, state BlockState) {
	if r.geometry.Uncached {
		r.put(r.restored(e))
	}
	s := r.segmentAt(e.Addr)
	if s == nil {
		r.problem(r.at, "%s at %#x, where there is no segment", e.Kind, e.Addr)
		return
	}
	b := Block{
		Addr: e.Addr, Size: r.geometry.Round(e.Size), Requested: e.Size, Stack: e.Stack, Note: e.Note,
		State: state, Given: GaveRequested,
	}
	if size, exact := e.BlockSize(); exact {
		b.Size, b.Given = size, b.Given|GaveSize
	}
	if !r.addBlock(b) {
		r.problem(r.at, "%s at %#x, which is live afterwards", e.Kind, e.Addr)
	}
}

func (r *Rewinder) undoRequest(e *Event) {
	id := r.back
	if id < 0 || r.blocks[id].Addr != e.Addr {
		var ok bool
		if id, ok = r.live.get(e.Addr); !ok {
			r.problem(r.at, "free_requested at %#x, which is not live afterwards", e.Addr)
			return
		}
	}
	if r.blocks[id].State != PendingFree {
		r.problem(r.at, "free_requested at %#x, which is still allocated afterwards", e.Addr)
	}
	r.blocks[id].State = Allocated
}

func (r *Rewinder) undoSegment(e *Event) {
	was, reason := r.segmentRewinder.undo(e)
	if reason != "" {
		r.problem(r.at, "%s of %d bytes at %#x, %s", e.Kind, e.Size, e.Addr, reason)
	}
	switch {
	case e.Kind == SegmentMap && reason == "":
		was = part(was, e.Addr, e.Addr+uint64(e.Size))
	case e.Kind != SegmentAlloc:
		return
	}
	if r.anyLive(was.Addr, was.Size) {
		r.problem(r.at, "%s of %d bytes at %#x, where there are live blocks already", e.Kind, e.Size, e.Addr)
	}
}

// anyLive reports whether a live block begins in the range.
func (r *Rewinder) anyLive(addr uint64, size int64) bool {
	found := false
	r.live.from(addr, func(at uint64, _ int32) bool {
		found = at < addr+uint64(size)
		return false
	})
	return found
}
