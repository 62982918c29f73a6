package program

import (
	"io"

	"memtop/snapshots/pytorch"
	"memtop/snapshots/trace"
)

// writerOf writes a trace in PyTorch's format.
func writerOf(t *trace.Trace) func(w io.Writer) error {
	return func(w io.Writer) error { return pytorch.Write(w, t) }
}
