package attach

import (
	"context"

	"github.com/memtop/memtop/snapshots/trace"
)

// Tell tells the program's probe which leaks this client's reader has learnt of, and that
// others were given back, for viewers that come later. A read-only client tells nothing.
func (c *Client) Tell(ctx context.Context, leaks []trace.Learnt) error {
	if c.o.ReadOnly {
		return nil
	}
	told := struct {
		Leaks []trace.Learnt `json:"leaks"`
	}{append(make([]trace.Learnt, 0), leaks[:min(len(leaks), trace.MostLearnt)]...)}
	return c.now.Load().asker.post(ctx, "/v1/learnt", told, &struct{}{})
}
