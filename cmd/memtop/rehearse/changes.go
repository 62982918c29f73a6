package rehearse

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/probe/python"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/report"
)

// trial describes how to run a command once.
type trial struct {
	gpu     imitation.GPU
	rank    int
	again   bool        // it is not the first run of the command
	ones    bool        // values that nothing computes read as ones, not as zeros
	endless bool        // the GPU's memory is unlimited, to find what the program needs
	with    change      // of the program
	to      output.File // for PyTorch's own snapshot; runs for advice have none

	survey *python.Model // takes what an edit of the program may name, nil if nobody asks
}

// remedy rehearses a program that did not fit: once without a limit, and then
// with changes that may make it fit. It adds the results. The processes print
// nothing. With Advice it rehearses changes of a program that fits, too.
func (r *Rehearsal) remedy(ctx context.Context, g imitation.GPU, args []string, found *report.Rehearsal) error {
	most := found.Most()
	if most == nil || r.NoAdvice || found.Failed() || most.OOM == nil && !r.Advice {
		return nil
	}
	endless := trial{gpu: g, rank: most.Rank, endless: true}
	whole, model := r.whole(ctx, endless, args)
	if whole == nil {
		return ctx.Err()
	}
	found.Need(whole, fitsOn(whole.Most(), g.Context))
	needs := whole.Most()
	if needs.Processes > 1 { // what a change makes of one process says nothing of all
		return nil
	}
	r.comment("it needs %s; running it again with changes that take less", quantity.Bytes(needs.Full()))
	worth := worthARun(model, needs)
	r.tryChanges(ctx, endless, args, found, whole, worth)
	if all, several := together(worth, most); several {
		r.tryChanges(ctx, endless, args, found, whole, []change{all})
	}
	if needs.PeakAllocated+g.Context <= g.Total && !needs.Expandable() { // what is cached and of no use is in the way
		r.tryExpandable(ctx, trial{gpu: g, rank: most.Rank, with: change{conf: expandable}}, args, found, whole)
	}
	return ctx.Err()
}

// together returns all changes that a device's program can have as one, and whether that is worth a run: there are
// several, and none alone is enough.
func together(tried []change, on *report.RehearsedOn) (all change, several bool) {
	had := 0
	for i, c := range tried {
		switch r := &on.Tried[i]; {
		case r.Fits && on.OOM != nil:
			return change{}, false
		case r.Refused == "":
			had++
			all = all.and(c)
		}
	}
	return all, had > 1
}

// tryChanges rehearses a command with each of several changes, and adds the
// results.
func (r *Rehearsal) tryChanges(ctx context.Context, t trial, args []string, found, whole *report.Rehearsal, changes []change) {
	results, failures := make([]*report.Rehearsal, len(changes)), make([]error, len(changes))
	inParallel(len(changes), func(i int) {
		if changes[i].refused == "" {
			t := t
			t.with = changes[i]
			results[i], failures[i] = r.tryOne(ctx, t, args)
		}
	})
	for i, its := range results {
		if why := changes[i].whyNot(its, failures[i]); why != "" {
			found.Refused(changes[i].text, why)
		} else {
			found.Tried(changes[i].text, its, whole)
		}
	}
}

// setsItself is why a program cannot have settings of the allocator by the environment.
const setsItself = "the program sets its allocator itself; change it there"

// tryExpandable rehearses a command with expandable segments, and adds the result if it is told anything.
func (r *Rehearsal) tryExpandable(ctx context.Context, t trial, args []string, found, whole *report.Rehearsal) {
	text := allocatorVariable(os.Environ()) + "=" + expandable
	its, err := r.tryOne(ctx, t, args)
	switch {
	case err != nil || its.Most() == nil || !its.Fits:
	case !its.Most().Expandable():
		found.Refused(text, setsItself)
	default:
		found.Tried(text, its, whole)
	}
}

// whole rehearses a command without a limit, to see what it needs and what an edit may name. It returns nil if that
// fails.
func (r *Rehearsal) whole(ctx context.Context, t trial, args []string) (*report.Rehearsal, *python.Model) {
	r.comment("running it again without a limit, to find what it needs")
	t.survey = new(python.Model)
	whole, err := r.tryOne(ctx, t, args)
	if err != nil || whole.Most() == nil || !whole.Fits {
		r.comment("what it needs is not known: the run without a limit failed too")
		return nil, nil
	}
	return whole, t.survey
}

// comment reports progress, if the caller takes comments.
func (r *Rehearsal) comment(format string, values ...any) {
	if r.Comment != nil {
		r.Comment(fmt.Sprintf(format, values...))
	}
}

// allocatorVariable names the environment variable with the settings of PyTorch's
// allocator. Every version of PyTorch knows the older name.
func allocatorVariable(environ []string) string {
	for _, variable := range environ {
		if strings.HasPrefix(variable, "PYTORCH_ALLOC_CONF=") {
			return "PYTORCH_ALLOC_CONF"
		}
	}
	return "PYTORCH_CUDA_ALLOC_CONF"
}

// configured returns an environment with more settings of PyTorch's allocator.
func configured(environ []string, conf string) []string {
	if conf == "" {
		return environ
	}
	name := allocatorVariable(environ)
	before := ""
	for _, variable := range environ {
		if value, is := strings.CutPrefix(variable, name+"="); is {
			before = value
		}
	}
	return append(environ, name+"="+strings.TrimPrefix(before+","+conf, ","))
}

// inParallel calls a function for the numbers from 0 to n−1, as many at once as
// there are cores.
func inParallel(n int, call func(i int)) {
	free := make(chan struct{}, runtime.NumCPU())
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			call(i)
		})
	}
	running.Wait()
}
