package rehearse

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/probe/python"
	"github.com/memtop/memtop/snapshots/report"
)

// Rehearsal says what to rehearse, and how.
type Rehearsal struct {
	Devices  int
	Steps    Steps
	World    int   // ranks of the job, 0 for those that the command starts
	Ranks    []int // the ranks that run, one after the other
	Vary     Variation
	Values   Values
	Caught   Caught
	To       output.File // for PyTorch's own snapshots
	NoAdvice bool        // the program is not run again
	Advice   bool        // changes are rehearsed of a program that fits, too
	Fit      bool        // the cheapest change with which it fits is found

	Agent   func() (folder string, err error)                              // unpacks the agent
	Report  func(ctx context.Context, path string) (*report.Report, error) // on a snapshot
	Comment func(line string)                                              // takes progress lines; nil for none
	Said    io.Writer                                                      // takes the output of a failed program whose output was not shown
}

// Streams are the standard streams of a command.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run rehearses a command on a GPU. If sizes may depend on values that nothing
// computes, it runs the command again with others, and if the command does not fit,
// with changes that may make it fit. It returns the result, and the command's exit code.
func (r *Rehearsal) Run(ctx context.Context, g imitation.GPU, args []string, shown Streams) (*report.Rehearsal, int, error) {
	found, code, err := r.each(ctx, trial{gpu: g, to: r.To}, args, shown, r.progress())
	if err != nil {
		return nil, 0, err
	}
	if found.Undecided() && !r.NoAdvice {
		r.comment("running it again with other values, to see whether sizes depend on them")
		other, its, err := r.each(ctx, trial{gpu: g, ones: true, again: true}, args, Streams{}, nil)
		switch {
		case ctx.Err() != nil:
			return nil, 0, context.Cause(ctx)
		case err == nil && its == code && other.Fits:
			found.Compare(other)
		}
	}
	if r.Fit {
		return found, code, r.fitTo(ctx, g, args, found)
	}
	if err = r.remedy(ctx, g, args, found); err == nil && !r.NoAdvice && found.RoundsPinned() {
		err = r.unround(ctx, g, args, found)
	}
	return found, code, err
}

// each rehearses a command as each rank that is asked for, one after the other.
func (r *Rehearsal) each(ctx context.Context, t trial, args []string, shown Streams, progress func(*python.Rehearsed)) (found *report.Rehearsal, code int, err error) {
	for _, rank := range r.Ranks {
		t.rank = rank
		one, its, err := r.once(ctx, t, args, shown, progress)
		if err != nil {
			return nil, 0, err
		}
		found, code = found.Join(one), max(code, its)
	}
	return found, code, nil
}

// fitsOn returns the GPUs that have what was taken of a device, with CUDA's own memory for each process.
// That is certain only for GPUs on which the program makes the same requests.
func fitsOn(most *report.RehearsedOn, context int64) (list []string) {
	processes := int64(max(most.Processes, 1))
	all := slices.Clone(imitation.Catalogue())
	slices.SortStableFunc(all, func(x, y imitation.GPU) int { return int((x.Total - y.Total) >> 20) })
	for _, g := range all {
		if most.Full()+processes*(g.Context-context) <= g.Total {
			list = append(list, g.Name)
		}
	}
	return list
}

// Failed returns the error for a program that failed for a reason other than
// memory.
func Failed(code int, args []string) error {
	f := command.Failure{Code: code, Cause: fmt.Sprintf("%s ended with exit code %d for a reason of its own", strings.Join(args, " "), code)}
	if code == command.ExitSignal+int(syscall.SIGKILL) {
		f.Remedy = "the kernel may have killed it for lack of this machine's memory, which a rehearsal needs for what the program has on the processor"
	}
	return f
}
