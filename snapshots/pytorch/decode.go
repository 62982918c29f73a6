package pytorch

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/memtop/memtop/snapshots/trace"
)

// Options limit the memory of a decode. The zero value is useful.
type Options struct {
	// Bound limits the memory of the process; the zero value is
	// trace.DefaultBound.
	Bound trace.Bound
	// Total is the length of the input in bytes, 0 when not known. Lengths that
	// the input declares are checked against it.
	Total int64
}

// CorruptError says where the input is damaged, or has data that no memory
// snapshot has.
type CorruptError struct {
	Offset int64 // of the offending byte in the pickle
	Reason string
	// Memory is true if the input needs more memory than its bound allows.
	Memory bool
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("at byte %d: %s", e.Offset, e.Reason)
}

// errTruncated ends the loop when the input ends before its STOP.
var errTruncated = errors.New("the file ends early")

// Decode reads one snapshot pickle. Bytes after its STOP are ignored.
//
// An input that ends early gives its readable part, with Info.Truncated and a
// notice. Any other damage is a *[CorruptError]; the error of the reader or the
// context is returned unchanged. No input can make Decode run code, crash, or
// use more memory than the bound.
func Decode(ctx context.Context, r io.Reader, o Options) (*trace.Trace, error) {
	m := newMachine(ctx, r, o)
	defer m.release()
	return m.decode(m.run)
}

// decode makes a trace of what run reads.
func (m *machine) decode(run func() error) (*trace.Trace, error) {
	err := run()
	if errors.Is(err, errTruncated) {
		err = m.salvage()
	}
	if err != nil {
		return nil, err
	}
	return m.finish()
}
