package trace

import (
	"errors"
	"fmt"
)

// # Flat forms
//
// What is worked out of a large file once can be stored and used again where it
// lies, if it is arrays of numbers. The functions here take such arrays apart and
// put them together again. What comes back may be anybody's, so every number is
// checked before it is used; an error says what does not fit, for a log.

// EventsOf returns the events of one array, which is never to be changed.
func EventsOf(events []Event) Events {
	all := Events{n: len(events)}
	for len(events) > 0 {
		chunk := events[:min(chunkSize, len(events))]
		all.chunks = append(all.chunks, chunk)
		events = events[len(chunk):]
	}
	return all
}

// FlatTables are the tables' lists of lists as arrays. Entry k of a list is what lies
// between end k−1 and end k.
type FlatTables struct {
	StackEnds []uint32
	Stacks    []FrameID
	ListEnds  []uint32
	Lists     []StringID
	FXFrames  []FrameID // the frames that torch.fx knows something of
	FXNumbers []FXID
}

var errTooLong = errors.New("too long for 32 bits")

// Flat returns the lists of lists of the tables.
func (t *Tables) Flat() (FlatTables, error) {
	var f FlatTables
	for id := range t.StackCount() {
		f.Stacks = append(f.Stacks, t.Stack(StackID(id))...)
		f.StackEnds = append(f.StackEnds, uint32(len(f.Stacks)))
	}
	for _, list := range t.Lists {
		f.Lists = append(f.Lists, list...)
		f.ListEnds = append(f.ListEnds, uint32(len(f.Lists)))
	}
	if int64(len(f.Stacks)) > mostFlat || int64(len(f.Lists)) > mostFlat {
		return f, errTooLong
	}
	for frame, fx := range t.FrameFX {
		f.FXFrames, f.FXNumbers = append(f.FXFrames, frame), append(f.FXNumbers, fx)
	}
	return f, nil
}

const mostFlat = 1<<32 - 1

// TablesOf returns tables with the lists of t and those of f, if all numbers in them
// name something. The arrays belong to the tables from then on.
func TablesOf(t Tables, f FlatTables) (*Tables, error) {
	if len(t.Strings) < 2 || len(t.Frames) < 1 || len(t.FX) < 1 || len(t.Notes) < 1 || len(t.Streams) < 1 || len(t.Pools) < 1 ||
		len(f.StackEnds) < 2 || len(f.ListEnds) < 1 || len(t.Streams) > 1<<16 {
		return nil, errors.New("tables without their first entries")
	}
	if err := t.takeStacks(f); err != nil {
		return nil, err
	}
	if err := t.takeLists(f); err != nil {
		return nil, err
	}
	for k, frame := range f.FXFrames {
		if k >= len(f.FXNumbers) || int(frame) >= len(t.Frames) || int(f.FXNumbers[k]) >= len(t.FX) {
			return nil, errors.New("torch.fx of a frame that is not there")
		}
		if t.FrameFX == nil {
			t.FrameFX = make(map[FrameID]FXID, len(f.FXFrames))
		}
		t.FrameFX[frame] = f.FXNumbers[k]
	}
	return &t, t.check()
}

func (t *Tables) takeStacks(f FlatTables) error {
	t.arena, t.stacks = [][]FrameID{f.Stacks}, make([]stackSpan, len(f.StackEnds))
	var from uint32
	for id, to := range f.StackEnds {
		if to < from || int64(to) > int64(len(f.Stacks)) || id <= int(EmptyStack) && to > 0 {
			return fmt.Errorf("stack %d ends at %d", id, to)
		}
		t.stacks[id] = stackSpan{0, from, to}
		from = to
	}
	if !below(f.Stacks, len(t.Frames)) {
		return errors.New("a stack of a frame that is not there")
	}
	return nil
}

func (t *Tables) takeLists(f FlatTables) error {
	t.Lists = make([][]StringID, len(f.ListEnds))
	var from uint32
	for id, to := range f.ListEnds {
		if to < from || int64(to) > int64(len(f.Lists)) || id == 0 && to > 0 {
			return fmt.Errorf("list %d ends at %d", id, to)
		}
		if id > 0 {
			t.Lists[id] = f.Lists[from:to:to]
		}
		from = to
	}
	if !below(f.Lists, len(t.Strings)) {
		return errors.New("a list of a text that is not there")
	}
	return nil
}

// check reports whether all that refers to an entry refers to one that is there.
func (t *Tables) check() error {
	strings := len(t.Strings)
	for i := range t.Frames {
		if f := &t.Frames[i]; int(f.File) >= strings || int(f.Name) >= strings {
			return fmt.Errorf("frame %d has a text that is not there", i)
		}
	}
	for i := range t.FX {
		fx := &t.FX[i]
		if !below([]StringID{fx.Op, fx.NodeName, fx.Target, fx.OriginalTrace, fx.Info}, strings) {
			return fmt.Errorf("torch.fx %d has a text that is not there", i)
		}
	}
	for i := range t.Notes {
		n := &t.Notes[i]
		for _, text := range n.Texts() {
			if int(*text) >= strings {
				return fmt.Errorf("note %d has a text that is not there", i)
			}
		}
		if int(n.Pool) >= len(t.Pools) || int(n.Forward) >= len(t.Lists) {
			return fmt.Errorf("note %d has a pool or list that is not there", i)
		}
	}
	return nil
}

func below[ID ~uint32](ids []ID, n int) bool {
	var most ID
	for _, id := range ids {
		most = max(most, id)
	}
	return int64(most) < int64(n) || len(ids) == 0
}

// CheckState reports whether all that a state refers to is in the tables.
func (t *Tables) CheckState(s *State) error {
	for i := range s.Segments {
		g := &s.Segments[i]
		if int(g.Stack) >= t.StackCount() || int(g.Stream) >= len(t.Streams) || int(g.Pool) >= len(t.Pools) || int(g.Type) >= len(t.Strings) {
			return fmt.Errorf("segment %d has a number that is not there", i)
		}
		for k := range g.Blocks {
			b := &g.Blocks[k]
			if int(b.Stack) >= t.StackCount() || int(b.Note) >= len(t.Notes) || int(b.StateText) >= len(t.Strings) || b.State > UnknownState {
				return fmt.Errorf("block %d of segment %d has a number that is not there", k, i)
			}
			for _, tenant := range b.History {
				if int(tenant.Stack) >= t.StackCount() {
					return fmt.Errorf("block %d of segment %d has a stack that is not there", k, i)
				}
			}
		}
	}
	return nil
}
