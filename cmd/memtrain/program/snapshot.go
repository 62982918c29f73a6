package program

import (
	"io"

	"github.com/memtop/memtop/snapshots/pytorch"
	"github.com/memtop/memtop/snapshots/trace"
)

// writerOf writes a trace in PyTorch's format.
func writerOf(t *trace.Trace) func(w io.Writer) error {
	return func(w io.Writer) error { return pytorch.Write(w, t) }
}
