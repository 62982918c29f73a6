package command

import (
	"io"
	"os"

	"github.com/memtop/memtop/snapshots/trace"
)

// Output is a program's standard output or standard error. What is written to it
// is text for people, and is made printable on its way: what a file, a peer or
// an argument has put into it cannot steer the terminal. It is owned by one
// goroutine.
type Output struct {
	text, raw io.Writer
}

// NewOutput returns an output to w.
func NewOutput(w io.Writer) *Output { return &Output{trace.PrintableText(w), w} }

// Write writes text.
func (o *Output) Write(p []byte) (int, error) { return o.text.Write(p) }

// Raw returns what bytes go to as they are: those of binary formats, of what is
// printable already, and the program's own control sequences.
func (o *Output) Raw() io.Writer { return o.raw }

// JSON returns what JSON goes to.
func (o *Output) JSON() io.Writer { return trace.PrintableJSON(o.raw) }

// Fd returns the descriptor of the file behind it, for questions about the
// terminal; what is no file has one that there never is.
func (o *Output) Fd() uintptr {
	if f, ok := o.raw.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}
