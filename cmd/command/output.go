package command

import (
	"io"
	"os"

	"github.com/memtop/memtop/snapshots/trace"
)

// Output is a program's standard output or standard error. It makes all text
// printable, so that text from a file, a peer or an argument cannot control the
// terminal. One goroutine owns it.
type Output struct {
	text, raw io.Writer
}

// NewOutput returns an output to w.
func NewOutput(w io.Writer) *Output { return &Output{trace.PrintableText(w), w} }

// Write writes text.
func (o *Output) Write(p []byte) (int, error) { return o.text.Write(p) }

// Raw returns a writer that does not change the bytes: for binary formats, for
// text that is already printable, and for the program's own control sequences.
func (o *Output) Raw() io.Writer { return o.raw }

// JSON returns the writer for JSON.
func (o *Output) JSON() io.Writer { return trace.PrintableJSON(o.raw) }

// Fd returns the descriptor of the file behind it, for questions about the
// terminal. If there is no file, it returns an invalid descriptor.
func (o *Output) Fd() uintptr {
	if f, ok := o.raw.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}
