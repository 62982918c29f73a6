package probe

import (
	"context"
	"time"
)

// How a process that takes the place of an ended one is looked for. A look goes
// through all processes, so there are few, and not for ever.
const (
	firstSuccessor = 500 * time.Millisecond
	everySuccessor = 5 * time.Second
	lastSuccessor  = 10 * time.Minute
)

// successor waits for a process of the same user and command that began later
// and can be attached to, and returns its pid; 0 when none came.
func (c *Client) successor(ctx context.Context, began int64) int {
	ctx, cancel := context.WithTimeout(ctx, lastSuccessor)
	defer cancel()
	for delay := firstSuccessor; ; delay = min(2*delay, everySuccessor) {
		wait := time.NewTimer(delay)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return 0
		}
		all, err := Discover(ctx)
		if err != nil {
			return 0
		}
		for _, p := range all {
			if p.Problem == nil && p.User == c.process.User && p.Command == c.process.Command &&
				p.PID != c.process.PID && p.Info.Started >= began {
				return p.PID
			}
		}
	}
}
