package attach

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// faultError is a panic on a goroutine of this package's: a bug, which must not
// end the viewer while it has the terminal.
type faultError struct{ value any }

// Error says whose bug it is.
func (e faultError) Error() string { return fmt.Sprintf("a bug in memtop: %v", e.value) }

// caught makes a panic an error. It is deferred.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = faultError{r}
	}
}

// fail leaves the last trace, with a note that nothing more will come.
func (c *Client) fail(fault error) {
	t := *c.Trace()
	live := *t.Live
	live.Connected, live.Note = false, trace.Printable(fault.Error())+"; this is the last good state"
	t.Live = &live
	c.latest.Store(&t)
	select {
	case c.changed <- struct{}{}:
	default: // as in publish
	}
}
