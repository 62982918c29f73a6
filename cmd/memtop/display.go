package main

import (
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// display is the terminal while a screen is on it, with its state before. The
// screen restores the terminal when it ends; display restores it for a screen
// that hangs and cannot end.
type display struct {
	input  *os.File
	before *term.State // of input
	output io.Writer
}

// newDisplay saves the state of a terminal.
func newDisplay(input *os.File, output io.Writer) (*display, error) {
	before, err := term.GetState(input.Fd())
	return &display{input, before, output}, err
}

// leaveScreen resets every mode that a screen may have set in a terminal, and
// goes back to the text before it.
var leaveScreen = ansi.ResetModeSynchronizedOutput + ansi.ResetStyle +
	ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
	ansi.ResetModeBracketedPaste + ansi.ResetModifyOtherKeys + ansi.PopKittyKeyboard(1) +
	ansi.ResetModeUnicodeCore + ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable

// restore restores the terminal. It does nothing without one.
func (d *display) restore() {
	if d == nil {
		return
	}
	_ = term.Restore(d.input.Fd(), d.before) // it may be gone
	_, _ = io.WriteString(d.output, leaveScreen)
}

// patience is how long a terminal may take to accept the last output. A terminal
// that is stopped, or whose connection is dead, accepts nothing.
const patience = 200 * time.Millisecond

// briefly waits for f, but not for long.
func briefly(f func()) {
	done := make(chan struct{}) // closed by the goroutine, should it end
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
}
