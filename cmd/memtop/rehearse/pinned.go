package rehearse

import (
	"context"
	"os"

	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/snapshots/report"
)

// unrounded is the setting with which PyTorch rounds no request for pinned memory of a MiB or more.
const unrounded = "pinned_max_round_threshold_mb:1"

// unround rehearses a command without the rounding of pinned memory, and adds what it pins then. A PyTorch that does
// not know the setting ends at once, and nothing is added.
func (r *Rehearsal) unround(ctx context.Context, g imitation.GPU, args []string, found *report.Rehearsal) error {
	r.comment("running it again without the rounding of pinned memory")
	its, code, err := r.each(ctx, trial{gpu: g, again: true, with: change{conf: unrounded}}, args, Streams{}, nil)
	if err == nil && code == found.ExitCode && its.Fits == found.Fits {
		found.Unround(allocatorVariable(os.Environ())+"="+unrounded, its)
	}
	return ctx.Err()
}
