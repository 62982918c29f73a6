package pytorchtest

import (
	"github.com/memtop/memtop/snapshots/trace"
)

// clockStart is when every simulated trace begins, in microseconds since the
// epoch: 2026-01-01.
const clockStart = 1_767_225_600_000_000

// recorder makes a trace of an allocator's actions. The stack and the note are
// the program's at this moment.
type recorder struct {
	in    *trace.Interner
	log   trace.EventLog
	now   int64
	stack trace.StackID
	note  trace.Note
	// freeSite records frees with the stack of the free, as PyTorch does with
	// context="all", and not with that of the allocation.
	freeSite bool
}

func (r *recorder) add(e trace.Event) {
	r.now += 3
	e.Time = r.now
	r.log.Append(e)
}

func (r *recorder) noteOf(pool trace.Pool) trace.NoteID {
	n := r.note
	n.Pool = r.in.Pool(pool)
	return r.in.Note(n)
}

// plain returns the current note without the fields that only allocations have.
func (r *recorder) plain(pool trace.Pool) trace.NoteID {
	return r.in.Note(trace.Note{
		CompileContext: r.note.CompileContext, UserMetadata: r.note.UserMetadata, Internal: r.note.Internal, Pool: r.in.Pool(pool),
	})
}

func (r *recorder) alloc(b *block) {
	b.stack, b.note = r.stack, r.noteOf(b.segment.pool)
	r.add(trace.Event{
		Kind: trace.Alloc, Addr: b.addr, Size: b.requested, Stream: r.in.Stream(b.segment.stream),
		Stack: b.stack, Note: b.note,
	})
}

func (r *recorder) freeRequested(b *block) { r.freeEvent(trace.FreeRequested, b) }

func (r *recorder) freeCompleted(b *block) { r.freeEvent(trace.FreeCompleted, b) }

func (r *recorder) freeEvent(kind trace.Kind, b *block) {
	stack := b.stack
	if r.freeSite {
		stack = r.stack
	}
	r.add(trace.Event{
		Kind: kind, Addr: b.addr, Size: b.requested, Stream: r.in.Stream(b.segment.stream),
		Stack: stack, Note: r.plain(b.segment.pool),
	})
}

func (r *recorder) segment(kind trace.Kind, addr uint64, size int64, s *segment) {
	r.add(trace.Event{
		Kind: kind, Addr: addr, Size: size, Stream: r.in.Stream(s.stream), Stack: r.stack, Note: r.plain(s.pool),
	})
}

func (r *recorder) oom(free, size int64, stream uint64) {
	r.add(trace.Event{
		Kind: trace.OOM, Addr: uint64(free), Size: size, Stream: r.in.Stream(stream), Stack: r.stack,
		Note: r.plain(trace.Pool{}),
	})
}

// final returns the allocator's state as a snapshot gives it.
func (a *Allocator) final() trace.State {
	in := a.recorder.in
	state := trace.State{Segments: make([]trace.Segment, 0, len(a.segments))}
	for _, s := range a.segments {
		out := trace.Segment{
			Addr: s.addr, Size: s.size,
			Given: trace.GaveAddr | trace.GaveSize | trace.GaveAllocated | trace.GaveActive | trace.GaveRequested |
				trace.GaveStream | trace.GaveExpandable | trace.GaveDevice,
			SegmentFacts: trace.SegmentFacts{Stream: in.Stream(s.stream), Pool: in.Pool(s.pool), Device: int32(a.device), Expandable: s.expandable, Stack: s.stack, Type: in.String("large")},
		}
		if s.small {
			out.Type = in.String("small")
		}
		for _, b := range s.blocks {
			out.Blocks = append(out.Blocks, b.final())
			if b.free() {
				continue
			}
			out.Active += b.size
			out.Requested += b.requested
			if b.live {
				out.Allocated += b.size
			}
		}
		state.Segments = append(state.Segments, out)
	}
	return state
}

func (b *block) final() trace.Block {
	out := trace.Block{
		Addr: b.addr, Size: b.size, Requested: b.requested, Stack: max(b.stack, trace.EmptyStack),
		Given: trace.GaveAddr | trace.GaveSize | trace.GaveRequested | trace.GaveState,
	}
	switch {
	case b.live:
		out.State = trace.Allocated
	case b.pending:
		out.State = trace.PendingFree
	}
	return out
}
