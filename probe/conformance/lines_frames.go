package conformance

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

type frameLine struct {
	File, Name int
	Line       int32
}

func (r *lineReader) frame(l frameLine) (trace.FrameID, error) {
	file, err := of(r.strings, l.File)
	name, err2 := of(r.strings, l.Name)
	return r.names.Frame(trace.Frame{File: file, Name: name, Line: l.Line}), errors.Join(err, err2)
}

func (r *lineReader) note(numbers map[string]int) (trace.NoteID, error) {
	var n trace.Note
	var errs []error
	text := func(name string) trace.StringID {
		s, err := of(r.strings, numbers[name])
		errs = append(errs, err)
		return s
	}
	for i, into := range n.Texts() {
		*into = text(trace.NoteTexts[i])
	}
	var err error
	n.Pool, err = of(r.pools, numbers["pool"])
	errs = append(errs, err)
	n.Forward, err = of(r.lists, numbers["forward"])
	return r.names.Note(n), errors.Join(append(errs, err)...)
}

type eventLine struct {
	Kind   *string
	Addr   address
	Size   int64
	Time   int64 `json:"time_us"`
	Stack  int
	Note   int
	Stream int
	Absent trace.Absent
}

func (r *lineReader) events(data []byte) error {
	var said struct {
		Device int
		First  *int64
		Events []eventLine
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return err
	}
	if said.First == nil {
		return errors.New("it has no first")
	}
	f := wire.Frame{Device: said.Device, First: *said.First, Events: make([]trace.Event, len(said.Events))}
	for i := range said.Events {
		var err error
		if f.Events[i], err = r.event(&said.Events[i]); err != nil {
			return fmt.Errorf("event %d: %w", *said.First+int64(i), err)
		}
	}
	r.observed.events(&r.names.Tables, &f)
	return nil
}

func (r *lineReader) event(l *eventLine) (v trace.Event, err error) {
	if l.Kind == nil {
		return v, errors.New("it has no kind")
	}
	v = trace.Event{Kind: trace.KindOf(*l.Kind), Addr: uint64(l.Addr), Size: l.Size, Time: l.Time, Absent: l.Absent}
	var errs [3]error
	v.Stack, errs[0] = of(r.stacks, l.Stack)
	v.Note, errs[1] = of(r.notes, l.Note)
	v.Stream, errs[2] = of(r.streams, l.Stream)
	return v, errors.Join(errs[:]...)
}

type baseLine struct {
	Device   int
	First    *int64
	Segments []struct {
		Addr   *address
		Size   int64
		Type   int
		Blocks []blockLine
	}
}

type blockLine struct {
	Addr        *address
	Size        int64
	Requested   int64
	State       string
	Stack, Note int
}

func (r *lineReader) base(data []byte) error {
	var said baseLine
	if err := json.Unmarshal(data, &said); err != nil {
		return err
	}
	if said.First == nil {
		return errors.New("it has no first")
	}
	f := wire.Frame{Device: said.Device, First: *said.First}
	for i := range said.Segments {
		s := &said.Segments[i]
		kind, err := of(r.strings, s.Type)
		if err != nil || s.Addr == nil {
			return fmt.Errorf("segment %d has no address or no type", i)
		}
		g := trace.Segment{Addr: uint64(*s.Addr), Size: s.Size, SegmentFacts: trace.SegmentFacts{Type: kind}}
		for k := range s.Blocks {
			b, err := r.block(&s.Blocks[k])
			if err != nil {
				return fmt.Errorf("block %d of segment %d: %w", k, i, err)
			}
			g.Blocks = append(g.Blocks, b)
		}
		f.State.Segments = append(f.State.Segments, g)
	}
	r.observed.base(&r.names.Tables, &f)
	return nil
}

func (r *lineReader) block(l *blockLine) (b trace.Block, err error) {
	if l.Addr == nil {
		return b, errors.New("it has no address")
	}
	b = trace.Block{Addr: uint64(*l.Addr), Size: l.Size, Requested: l.Requested, Given: trace.GaveRequested, State: trace.UnknownState}
	for s := range trace.UnknownState {
		if s.String() == l.State {
			b.State = s
		}
	}
	var errs [2]error
	b.Stack, errs[0] = of(r.stacks, l.Stack)
	b.Note, errs[1] = of(r.notes, l.Note)
	return b, errors.Join(errs[:]...)
}

// part reads a part of a snapshot.
func (r *lineReader) part(data []byte) error {
	var said struct {
		Left   *int   `json:"parts_left"`
		Pickle []byte // in Base64
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return err
	}
	if said.Left == nil || len(said.Pickle) == 0 {
		return errors.New("it has no parts_left or no pickle")
	}
	return nil
}

func (r *lineReader) tags(data []byte) error {
	var said struct {
		Device int
		Tags   []struct {
			Addr *address
			Note int
		}
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return err
	}
	for _, tag := range said.Tags {
		if tag.Addr == nil {
			return errors.New("a tag has no address")
		}
		if _, err := of(r.notes, tag.Note); err != nil {
			return err
		}
	}
	return nil
}
