package ptx

import (
	"fmt"
	"strings"
)

// Fault is what a kernel does and must not, and where.
type Fault struct {
	Entry         string
	Line          int // of the text
	Text          string
	Block, Thread uint32
	What          string
}

// Error implements error.
func (f *Fault) Error() string {
	return fmt.Sprintf("ptx: %s, line %d, %s, block %d, thread %d: %s", f.Entry, f.Line, f.Text, f.Block, f.Thread, f.What)
}

// fault ends the launch. i is the thread of the warp that is to blame.
func (w *warp) fault(in *instruction, i int, format string, arguments ...any) {
	s := in.written
	panic(error(&Fault{
		Entry: w.program.Name, Line: s.line, Text: s.text(),
		Block: w.block.number, Thread: w.first + uint32(i), What: fmt.Sprintf(format, arguments...),
	}))
}

// text returns a statement nearly as it is written.
func (s *statement) text() string {
	guard := ""
	if s.guard != "" {
		guard = "@" + strings.Repeat("!", int(truth(s.unless))) + s.guard + " "
	}
	return strings.TrimSpace(guard + s.opcode + " " + strings.Join(s.operands, ", "))
}
