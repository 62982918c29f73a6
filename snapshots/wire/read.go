package wire

import (
	"context"
	"errors"
	"io"

	"github.com/memtop/memtop/snapshots/trace"
)

// Options bound and watch the reading of a recording. The zero value is useful.
type Options struct {
	// Bound bounds the memory of the process; the zero value is DefaultBound.
	// Reading drops the oldest data beyond it, see "What a stream may take".
	Bound trace.Bound
	// Total is the recording's size if it is known. Reading ends after the frame
	// that reaches it, although the recording may have grown since.
	Total int64
}

// DefaultBound is the default bound for recordings. An event takes about 12 bytes
// in a recording, at least 4, and 80 in memory.
var DefaultBound = trace.Bound{Least: trace.DefaultBound.Least, PerByte: 96}

// Read reads a recording to its end. A recording that ends after a whole frame is
// complete; if that frame is no goodbye, a notice says so. A recording that ends
// inside a frame, because the recorder was killed or is still writing, is no
// error: Info.Truncated is set and a notice says so. Damage is a *[CorruptError],
// another version a *[VersionError]. Cancelling ctx makes it return soon, with
// the context's error.
func Read(ctx context.Context, r io.Reader, o Options) (*trace.Trace, error) {
	if o.Bound == (trace.Bound{}) {
		o.Bound = DefaultBound
	}
	w := &watched{ctx: ctx, r: r}
	s := NewStream(w, StreamOptions{Kind: "recording", Memory: max(1, o.Bound.Room(0))})
	var corrupt *CorruptError
	for {
		err := s.fit(o.Bound.Room(w.read))
		if err == nil {
			_, err = s.Advance()
		}
		switch {
		case errors.As(err, &corrupt) && corrupt.Memory:
			return nil, &CorruptError{Offset: s.decoder.begin, Reason: o.Bound.Refusal(w.read), Memory: true}
		case err == nil && o.Total > 0 && s.decoder.offset >= o.Total:
			return s.finish(), nil
		case err == nil:
		case errors.As(err, &corrupt) && corrupt.Zeros && s.hello != nil:
			return s.early("the recording ends in zeros: the machine went down while it was written"), nil
		case errors.Is(err, io.EOF) && s.hello != nil:
			return s.finish(), nil
		case ended(err):
			return s.truncated()
		default:
			return nil, err
		}
	}
}

// ended reports whether a stream has no more bytes, at the end of a frame or within one.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// errNameless is the error of a stream that ends before its greeting.
func errNameless(kind string) error {
	return &CorruptError{Offset: 0, Reason: "the " + kind + " ends before it names its program"}
}

// finish returns the trace of a recording whose last frame is whole.
func (s *Stream) finish() *trace.Trace {
	t := s.Trace()
	if _, ok := s.Ended(); !ok {
		t.Notices = append([]string{"the recording ends before the program said goodbye: later events are missing"}, t.Notices...)
	}
	return t
}

func (s *Stream) truncated() (*trace.Trace, error) {
	if s.hello == nil {
		return nil, errNameless("recording")
	}
	return s.early("the recording ends in the middle of a frame: the recorder was killed, or the copy is not whole"), nil
}

func (s *Stream) early(notice string) *trace.Trace {
	t := s.Trace()
	t.Info.Truncated = true
	t.Notices = append([]string{notice}, t.Notices...)
	return t
}

// watched reports progress and stops when the context ends.
type watched struct {
	ctx  context.Context
	r    io.Reader
	read int64
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := w.r.Read(p)
	w.read += int64(n)
	return n, err
}
