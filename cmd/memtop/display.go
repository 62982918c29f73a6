package main

import (
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// display is the terminal while a screen is on it, and how it was before. The
// screen puts it right when it ends; this is for a screen that cannot end,
// because it hangs.
type display struct {
	input  *os.File
	before *term.State // of input
	output io.Writer
}

// newDisplay remembers how a terminal is.
func newDisplay(input *os.File, output io.Writer) (*display, error) {
	before, err := term.GetState(input.Fd())
	return &display{input, before, output}, err
}

// leaveScreen undoes what a screen may have asked of a terminal, and goes back to
// what was there before it.
var leaveScreen = ansi.ResetModeSynchronizedOutput + ansi.ResetStyle +
	ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
	ansi.ResetModeBracketedPaste + ansi.ResetModifyOtherKeys + ansi.PopKittyKeyboard(1) +
	ansi.ResetModeUnicodeCore + ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable

// restore puts the terminal right. It does nothing without one.
func (d *display) restore() {
	if d == nil {
		return
	}
	_ = term.Restore(d.input.Fd(), d.before) // it may be gone
	_, _ = io.WriteString(d.output, leaveScreen)
}

// patience is how long a terminal may take what is written at the end. One that
// is stopped, or whose connection is dead, takes nothing.
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
