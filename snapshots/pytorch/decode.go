package pytorch

import (
	"context"
	"errors"
	"fmt"
	"io"

	"memtop/snapshots/trace"
)

// Options bounds and watches a decode. The zero value is useful.
type Options struct {
	// Bound is for the memory of the process; the zero value is
	// trace.DefaultBound.
	Bound trace.Bound
	// Progress receives the bytes read; nil for none.
	Progress trace.Progress
	// Total is the length of the input in bytes, 0 when not known. Lengths that
	// the input declares are checked against it.
	Total int64
}

// CorruptError says that the input is damaged, or holds what a memory snapshot
// does not hold, and where.
type CorruptError struct {
	Offset int64 // of the offending byte in the pickle
	Reason string
	// Memory says that the input needs more memory than its bound allows.
	Memory bool
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("at byte %d: %s", e.Offset, e.Reason)
}

// errTruncated ends the loop when the input ends before its STOP.
var errTruncated = errors.New("the file ends early")

// Decode reads one snapshot pickle. Bytes after its STOP are left alone.
//
// An input that ends early gives what was readable, with Info.Truncated and a
// notice. Anything else that is wrong is a *[CorruptError]; a failing reader or
// a cancelled context is returned as it is. Nothing in the input can make
// Decode run code, crash, or use more memory than the bound.
func Decode(ctx context.Context, r io.Reader, o Options) (*trace.Trace, error) {
	m := newMachine(ctx, r, o)
	defer m.release()
	err := m.run()
	if errors.Is(err, errTruncated) {
		err = m.salvage()
	}
	if err != nil {
		return nil, err
	}
	return m.finish()
}
