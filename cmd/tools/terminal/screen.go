package terminal

import (
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// screen is the content of a terminal. A goroutine answers the program's queries
// to the terminal; close ends it. Safe for concurrent use.
type screen struct {
	*vt.SafeEmulator
	answered chan struct{} // closed when there are no more answers
}

// newScreen returns a screen of w×h cells whose answers go to program.
func newScreen(w, h int, program io.Writer) *screen {
	s := &screen{vt.NewSafeEmulator(w, h), make(chan struct{})}
	go s.answer(program)
	return s
}

// answer passes the emulator's answers to the program; the emulator blocks until
// they are read.
func (s *screen) answer(program io.Writer) {
	defer close(s.answered)
	buf := make([]byte, 1<<10)
	for {
		n, err := s.Read(buf)
		if err != nil {
			return
		}
		_, _ = program.Write(buf[:n]) // one that has ended needs no answer
	}
}

// close ends the answers. Nothing may be written to the screen any more.
func (s *screen) close() {
	if answers, ok := s.InputPipe().(io.Closer); ok {
		_ = answers.Close() // a pipe in memory
	}
	<-s.answered
}

// text returns the rows, without colours, trailing blanks cut.
func (s *screen) text() string {
	rows := strings.Split(ansi.Strip(s.Render()), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return strings.Join(rows, "\n")
}
