package attach

import (
	"fmt"

	"github.com/memtop/memtop/snapshots/trace"
)

// faultError is a panic on a goroutine of this package: a bug. It must not end
// the viewer while the viewer owns the terminal.
type faultError struct{ value any }

// Error says that memtop has a bug.
func (e faultError) Error() string { return fmt.Sprintf("a bug in memtop: %v", e.value) }

// caught turns a panic into an error. Callers defer it.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = faultError{r}
	}
}

// fail publishes the last trace again, with a note that it is the last.
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
