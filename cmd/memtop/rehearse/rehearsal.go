package rehearse

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/snapshots/report"
)

// Rehearsal is what is to be rehearsed, and how.
type Rehearsal struct {
	Devices  int
	Steps    int
	World    int   // ranks of the job, 0 for those that the command starts
	Ranks    []int // of them that run, one after the other
	Vary     Variation
	Values   Values
	To       output.File // for PyTorch's own snapshots
	NoAdvice bool        // a program that does not fit is not run again

	Agent   func() (folder string, err error)                              // unpacks the agent
	Report  func(ctx context.Context, path string) (*report.Report, error) // on a snapshot
	Comment func(line string)                                              // takes what goes on, nil where nobody looks
	Said    io.Writer                                                      // takes what a program said that fails where its output is not shown
}

// Streams are those of a command.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run rehearses a command on a GPU, rank after rank, and what may make it fit if it does
// not. It returns how it fared, and its exit code.
func (r *Rehearsal) Run(ctx context.Context, g imitation.GPU, args []string, shown Streams) (*report.Rehearsal, int, error) {
	var found *report.Rehearsal
	var code int
	for _, rank := range r.Ranks {
		one, its, err := r.once(ctx, trial{gpu: g, rank: rank}, args, shown, r.progress())
		if err != nil {
			return nil, 0, err
		}
		found, code = found.Join(one), max(code, its)
	}
	return found, code, r.remedy(ctx, g, args, found)
}

// fitsOn returns the GPUs on which so much fits that is not CUDA's own: for certain only
// on those that make the same requests.
func fitsOn(bytes int64) (list []string) {
	all := slices.Clone(imitation.Catalogue())
	slices.SortStableFunc(all, func(x, y imitation.GPU) int { return int((x.Total - y.Total) >> 20) })
	for _, g := range all {
		if bytes+g.Context <= g.Total {
			list = append(list, g.Name)
		}
	}
	return list
}

// Failed returns the error about a program that failed for a reason of its own.
func Failed(code int, args []string) error {
	return command.Failure{Code: code, Cause: fmt.Sprintf("%s ended with exit code %d for a reason of its own", strings.Join(args, " "), code)}
}
