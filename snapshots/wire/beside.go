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
// A black box has a stream with the names that events refer to, and the events
// themselves beside it, in a ring. The events use the numbers of that stream. The
// program may have ended before it wrote the last names to the stream.

// Unwritten is the text in place of a name that an event refers to and the stream
// does not have.
const Unwritten = "(not written any more: the program ended before)"

// ReadFrames reads the stream of r as far as possible, with a bound on its
// memory, so that the caller can add the events beside it. damaged says why
// reading stopped before the end of r, nil if it did not. Without a greeting it
// is a *[CorruptError] or a *[VersionError]; when cancelled, the context's error.
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

// Translate changes events from the stream's numbers to those of its tables, and
// returns how many events refer to a missing name.
func (s *Stream) Translate(events []trace.Event) (unwritten int) {
	ids := &s.decoder.ids
	for i := range events {
		e := &events[i]
		var stack, note, stream bool
		if e.Stack, stack = named(&ids.stacks, uint64(e.Stack)); !stack {
			e.Stack = s.in.Stack([]trace.FrameID{s.in.Frame(trace.Frame{Name: s.in.String(Unwritten)})})
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

// named translates a number, and reports whether the stream has it.
func named[ID any](t *column[ID], n uint64) (id ID, came bool) {
	switch {
	case n >= t.count:
		return id, false
	case n >= uint64(len(t.ids)):
		return t.rest, true
	}
	return t.ids[n], true
}

// Append adds events, which refer to the stream's tables, to those of a device.
// first is the number of the first one in the program's own count.
func (s *Stream) Append(device int, first int64, events []trace.Event) error {
	if err := s.events(&Frame{Type: EventsFrame, Device: device, First: first, Events: events}); err != nil {
		return fmt.Errorf("its events do not follow its state: %w", err)
	}
	return nil
}
