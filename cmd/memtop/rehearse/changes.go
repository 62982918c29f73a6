package rehearse

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/memtop/memtop/cmd/output"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
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
	changes string      // of the agent's settings, KEY=VALUE with spaces between
	conf    string      // more settings of PyTorch's allocator
	to      output.File // for PyTorch's own snapshot; runs for advice have none
}

// change is a change that may take less memory.
type change struct {
	text, settings string
	finding        string // the kind of finding that calls for it, "" if it is worth a run in any case
}

// changes are tried one by one first, and then all together.
var changes = []change{
	{"checkpointing of the model's blocks", "checkpoint=all", ""},
	{"autocast of the model's forward to bfloat16", "amp=bf16", ""},
	{"fused=True of the optimizers", "fused=on", "foreach_temporaries"},
	{"gradient_as_bucket_view=True of DistributedDataParallel", "bucket_view=on", "bucket_copies"},
}

const expandable = "expandable_segments:True"

// remedy rehearses a program that did not fit: once without a limit, and then
// with changes that may make it fit. It adds the results. The processes print
// nothing. With Advice it rehearses changes of a program that fits, too.
func (r *Rehearsal) remedy(ctx context.Context, g imitation.GPU, args []string, found *report.Rehearsal) error {
	most := found.Most()
	if most == nil || r.NoAdvice || found.Failed() || most.OOM == nil && !r.Advice {
		return nil
	}
	endless, whole := trial{gpu: g, rank: most.Rank, endless: true}, found
	if most.OOM != nil {
		r.comment("running it again without a limit, to find what it needs")
		var err error
		whole, err = r.tryOne(ctx, endless, args)
		if err != nil || whole.Most() == nil || !whole.Fits {
			r.comment("what it needs is not known: the run without a limit failed too")
			return ctx.Err()
		}
		found.Need(whole, fitsOn(whole.Most(), g.Context))
	}
	needs := whole.Most()
	if needs.Processes > 1 { // what a change makes of one process says nothing of all
		return nil
	}
	r.comment("it needs %s; running it again with changes that take less", quantity.Bytes(needs.Full()))
	worth := slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return c.finding != "" && !needs.Finds(c.finding) })
	r.tryChanges(ctx, endless, args, found, whole, worth)
	if all := together(worth, most); all.settings != "" {
		r.tryChanges(ctx, endless, args, found, whole, []change{all})
	}
	if needs.PeakAllocated+g.Context <= g.Total && !needs.Expandable() { // what is cached and of no use is in the way
		r.tryExpandable(ctx, trial{gpu: g, rank: most.Rank, conf: expandable}, args, found, whole)
	}
	return ctx.Err()
}

// together returns all changes that a device's program can have as one. It returns no change if that is not worth a run,
// because there are no two, or because one alone is enough.
func together(tried []change, on *report.RehearsedOn) (all change) {
	several := 0
	for i, c := range tried {
		switch r := &on.Tried[i]; {
		case r.Fits && on.OOM != nil:
			return change{}
		case r.Refused == "":
			several++
			all.text, all.settings = all.text+", "+c.text, all.settings+" "+c.settings
		}
	}
	if several < 2 {
		return change{}
	}
	return change{text: strings.TrimPrefix(all.text, ", "), settings: all.settings}
}

// tryChanges rehearses a command with each of several changes, and adds the
// results.
func (r *Rehearsal) tryChanges(ctx context.Context, t trial, args []string, found, whole *report.Rehearsal, changes []change) {
	results, failures := make([]*report.Rehearsal, len(changes)), make([]error, len(changes))
	inParallel(len(changes), func(i int) {
		t := t
		t.changes = changes[i].settings
		results[i], failures[i] = r.tryOne(ctx, t, args)
	})
	for i, its := range results {
		switch {
		case failures[i] != nil:
			found.Refused(changes[i].text, "the program fails with it")
		case its.Unchanged != "":
			found.Refused(changes[i].text, its.Unchanged)
		case its.Most() == nil:
			found.Refused(changes[i].text, "the program uses no GPU with it")
		default:
			found.Tried(changes[i].text, its, whole)
		}
	}
}

// tryExpandable rehearses a command with expandable segments, and adds the result if it is told anything.
func (r *Rehearsal) tryExpandable(ctx context.Context, t trial, args []string, found, whole *report.Rehearsal) {
	text := allocatorVariable(os.Environ()) + "=" + expandable
	its, err := r.tryOne(ctx, t, args)
	switch {
	case err != nil || its.Most() == nil || !its.Fits:
	case !its.Most().Expandable():
		found.Refused(text, "the program sets its allocator itself; change it there")
	default:
		found.Tried(text, its, whole)
	}
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
