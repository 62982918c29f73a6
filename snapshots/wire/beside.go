package wire

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/memtop/memtop/snapshots/trace"
)

// # Events beside a stream
//
// A black box has what events refer to as a stream and the events themselves beside it,
// in a ring. They are in the numbers of that stream, of which the last may not have been
// written any more.

// Unwritten is the text that stands for what an event refers to and the stream
// does not have.
const Unwritten = "(not written any more: the program ended before)"

// ReadFrames reads the stream of r as far as it can be read, in a memory of so many
// bytes, to have events added that lie beside it. damaged says why it ends before the
// end of r, nil when it does not. Without a greeting it is a *[CorruptError] or a
// *[VersionError]; cancelled, the context's error.
func ReadFrames(ctx context.Context, r io.Reader, memory int64) (s *Stream, damaged, err error) {
	s = NewStream(r, StreamOptions{Kind: "recording", Memory: max(1, memory)})
	for {
		if err = ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err = s.fit(memory); err == nil {
			_, err = s.Advance()
		}
		corrupt := (*CorruptError)(nil)
		switch {
		case err == nil:
			continue
		case s.hello == nil && ended(err):
			return nil, nil, errNameless("state")
		case errors.As(err, &corrupt) && corrupt.Memory, s.hello == nil, errors.As(err, new(*VersionError)):
			return nil, nil, err
		case errors.Is(err, io.EOF):
			return s, nil, nil
		default:
			return s, err, nil
		}
	}
}

// Translate has events that are in the numbers of the stream refer to its tables
// instead, and returns how many refer to what did not come.
func (s *Stream) Translate(events []trace.Event) (unwritten int) {
	ids := &s.decoder.ids
	for i := range events {
		e := &events[i]
		var stack, note, stream bool
		if e.Stack, stack = named(&ids.stacks, uint64(e.Stack)); !stack {
			e.Stack = s.unwrittenStack()
		}
		if e.Note, note = named(&ids.notes, uint64(e.Note)); !note {
			e.Note = s.in.Note(trace.Note{UserMetadata: s.in.String(Unwritten)})
		}
		e.Stream, stream = named(&ids.streams, uint64(e.Stream))
		if !stack || !note || !stream {
			unwritten++
		}
	}
	return unwritten
}

// named translates a number, and reports whether it came.
func named[ID any](t *column[ID], n uint64) (id ID, came bool) {
	switch {
	case n >= t.count:
		return id, false
	case n >= uint64(len(t.ids)):
		return t.rest, true
	}
	return t.ids[n], true
}

func (s *Stream) unwrittenStack() trace.StackID {
	return s.in.Stack([]trace.FrameID{s.in.Frame(trace.Frame{Name: s.in.String(Unwritten)})})
}

// Append adds events of a device, which refer to the stream's tables, behind those it
// has. The first has that number in the program's own count.
func (s *Stream) Append(device int, first int64, events []trace.Event) error {
	if err := s.events(&Frame{Type: EventsFrame, Device: device, First: first, Events: events}); err != nil {
		return fmt.Errorf("its events do not follow its state: %w", err)
	}
	return nil
}
