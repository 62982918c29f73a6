package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// SnapshotOptions bound a snapshot. The zero value is useful.
type SnapshotOptions struct {
	// MaxMemory bounds the snapshot in bytes as it is sent, and also as it is
	// decoded if it exceeds trace.DefaultBound; 0 means MaxSnapshot.
	MaxMemory int64

	quiet time.Duration // how long a program may be silent, 0 for answerWithin
}

// MaxSnapshot is the default bound of a snapshot: a hundred times the size that a
// probe with the default ring writes.
const MaxSnapshot = 4 << 30

// Snapshot asks a program on that machine for its memory in PyTorch's format,
// copies it to w and returns it decoded. It decodes while it copies: without an
// error, w has a complete and valid snapshot; with an error, w has at most a
// part of it. The target and the errors are those of [Dial], and also a
// [*MalformedError] and an [*EndlessError]. It returns errors of w unchanged.
func (m Machine) Snapshot(ctx context.Context, target string, w io.Writer, o SnapshotOptions) (*trace.Trace, error) {
	e, err := m.locate(ctx, target)
	if err != nil {
		return nil, err
	}
	a := e.asker("")
	a.patience = cmp.Or(o.quiet, a.patience)
	defer a.close()
	from, err := a.get(ctx, "/v1/snapshot")
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }() // it was only read
	from.doing = "its snapshot"
	s := &saved{from: from, to: w, most: cmp.Or(o.MaxMemory, MaxSnapshot)}
	t, err := s.decode(ctx)
	if err != nil {
		return nil, err
	}
	t.Info.Kind, t.Info.Path, t.Info.Container, t.Info.Bytes = "live", e.String(), "pickle", s.read
	return t, nil
}

// saved is a snapshot on its way from a program to a file.
type saved struct {
	from       *answer
	to         io.Writer
	most, read int64 // bytes
	failed     error // of Read; the program is not at fault
}

// worthWaiting is how many bytes of a snapshot a program must send within the
// asker's patience, so that the client gives up on one that sends byte by byte.
const worthWaiting = 64 << 10

// Read returns the bytes that arrive, and writes them to the file.
func (s *saved) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if before := s.read; n > 0 {
		s.read += int64(n)
		if before/worthWaiting < s.read/worthWaiting {
			s.from.heard()
		}
		if s.read > s.most {
			s.failed = s.tooLong()
		} else if _, failed := s.to.Write(p[:n]); failed != nil {
			s.failed = failed
		}
	}
	if s.failed != nil {
		return 0, s.failed
	}
	return n, err
}

func (s *saved) tooLong() error {
	return s.tooMuch(fmt.Sprintf("it is longer than %d bytes", s.most))
}

func (s *saved) tooMuch(reason string) error {
	return &EndlessError{
		fmt.Sprintf("the snapshot of %s is too large: %s", s.from.from.endpoint, reason),
		"allow more with --max-memory if it may be that large",
	}
}

// errMore is the error of a snapshot with more bytes after its end.
var errMore = errors.New("it goes on after its end")

// decode reads the snapshot to its end and the end of the answer.
func (s *saved) decode(ctx context.Context) (*trace.Trace, error) {
	bound := trace.DefaultBound
	bound.Most = max(bound.Least, s.most)
	t, err := pytorch.Decode(ctx, s, pytorch.Options{Bound: bound})
	if s.read == 0 || err == nil && t.Info.Truncated {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		var n int
		if n, err = s.Read(make([]byte, 1)); n > 0 {
			err = errMore
		}
	}
	switch {
	case s.failed != nil:
		return nil, s.failed
	case err == nil, errors.Is(err, io.EOF):
		return t, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	var corrupt *pytorch.CorruptError
	if errors.As(err, &corrupt) && corrupt.Memory {
		return nil, s.tooMuch(corrupt.Reason)
	}
	return nil, s.from.unreadable("snapshot", err)
}
