package reopen

import (
	"unsafe"

	"github.com/memtop/memtop/snapshots/trace"
)

// segment and block are those of package trace without what is no number; their lists
// follow each other in one array.
type segment struct {
	Addr                               uint64
	Size, Allocated, Active, Requested int64
	Blocks                             uint32 // how many
	Stack                              trace.StackID
	Pool                               trace.PoolID
	Type                               trace.StringID
	Device                             int32
	Stream                             trace.StreamID
	Given                              trace.Given
	Expandable                         uint32
	_                                  uint32
}

type block struct {
	Addr            uint64
	Size, Requested int64
	Stack           trace.StackID
	Note            trace.NoteID
	StateText       trace.StringID
	History         uint32 // how many
	Given           trace.Given
	State           uint16
	_               uint32
}

type held struct {
	Addr      uint64
	Size      int64
	Stack     trace.StackID
	Note      trace.NoteID
	Close     int32
	Stream    trace.StreamID
	FreeStack uint8
	_         uint8
}

// A held allocation is used where it lies, so it must be one of package trace byte for byte.
var _ = [1]struct{}{}[unsafe.Sizeof(held{})-unsafe.Sizeof(trace.Held{})|
	unsafe.Offsetof(held{}.Close)-unsafe.Offsetof(trace.Held{}.Close)|
	unsafe.Offsetof(held{}.FreeStack)-unsafe.Offsetof(trace.Held{}.FreeStack)]

func writeState(w *writer, s *trace.State) {
	var segments []segment
	var blocks []block
	var history []trace.Tenant
	for i := range s.Segments {
		g := &s.Segments[i]
		segments = append(segments, segment{
			Addr: g.Addr, Size: g.Size, Allocated: g.Allocated, Active: g.Active, Requested: g.Requested,
			Blocks: uint32(len(g.Blocks)), Stack: g.Stack, Pool: g.Pool, Type: g.Type, Device: g.Device,
			Stream: g.Stream, Given: g.Given, Expandable: uint32(number(g.Expandable)),
		})
		for k := range g.Blocks {
			b := &g.Blocks[k]
			blocks = append(blocks, block{
				Addr: b.Addr, Size: b.Size, Requested: b.Requested, Stack: b.Stack, Note: b.Note, StateText: b.StateText,
				History: uint32(len(b.History)), Given: b.Given, State: uint16(b.State),
			})
			history = append(history, b.History...)
		}
	}
	section(w, segments)
	section(w, blocks)
	section(w, history)
}

func number(v bool) uint16 {
	if v {
		return 1
	}
	return 0
}

// flatState is a state as it lies in an entry.
type flatState struct {
	segments []segment
	blocks   []block
	history  []trace.Tenant
}

func nextState(r *reader) flatState {
	return flatState{next[segment](r), next[block](r), next[trace.Tenant](r)}
}

// state makes a state. What it refers to is still to be checked.
func (f flatState) state() (trace.State, error) {
	blocks, err := f.makeBlocks()
	if err != nil || len(f.segments) == 0 {
		return trace.State{}, err
	}
	s := trace.State{Segments: make([]trace.Segment, len(f.segments))}
	for i := range f.segments {
		g := &f.segments[i]
		if int64(g.Blocks) > int64(len(blocks)) {
			return s, damaged("segment %d has no blocks", i)
		}
		s.Segments[i] = trace.Segment{
			Addr: g.Addr, Size: g.Size, Allocated: g.Allocated, Active: g.Active, Requested: g.Requested,
			Stack: g.Stack, Pool: g.Pool, Type: g.Type, Device: g.Device, Stream: g.Stream, Given: g.Given,
			Expandable: g.Expandable != 0, Blocks: cut(&blocks, g.Blocks),
		}
	}
	return s, nil
}

func (f flatState) makeBlocks() ([]trace.Block, error) {
	blocks, history := make([]trace.Block, len(f.blocks)), f.history
	for k := range f.blocks {
		b := &f.blocks[k]
		if int64(b.History) > int64(len(history)) {
			return nil, damaged("block %d has no history", k)
		}
		blocks[k] = trace.Block{
			Addr: b.Addr, Size: b.Size, Requested: b.Requested, Stack: b.Stack, Note: b.Note, StateText: b.StateText,
			Given: b.Given, State: trace.BlockState(min(b.State, 255)), History: cut(&history, b.History),
		}
	}
	return blocks, nil
}

// cut takes the first n of a list, nil for none.
func cut[T any](from *[]T, n uint32) []T {
	if n == 0 {
		return nil
	}
	part := (*from)[:n:n]
	*from = (*from)[n:]
	return part
}

func flatHeld(all []trace.Held) []held {
	flat := make([]held, len(all))
	for k := range all {
		h := &all[k]
		flat[k] = held{h.Addr, h.Size, h.Stack, h.Note, h.Close, h.Stream, uint8(number(h.FreeStack)), 0}
	}
	return flat
}

// heldOf returns held allocations where they lie.
func heldOf(flat []held) ([]trace.Held, error) {
	for k := range flat {
		if flat[k].FreeStack > 1 {
			return nil, damaged("held allocation %d", k)
		}
	}
	return viewOf[trace.Held](bytesOf(flat)), nil
}
