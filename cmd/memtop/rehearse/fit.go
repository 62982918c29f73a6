package rehearse

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/probe/python"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/report"
)

// mostRuns is how often a command is rehearsed at most to find what makes it fit.
const mostRuns = 12

// fitting looks for the cheapest change with which a program fits. What costs no time is tried first, then what costs
// some and keeps all numbers, then what changes them.
type fitting struct {
	*Rehearsal
	gpu          imitation.GPU
	rank         int
	args         []string
	found, whole *report.Rehearsal
	model        *python.Model
	fit          *report.Fit
	runs         atomic.Int64
}

// weighed is a change and what the program takes with it.
type weighed struct {
	change
	on   *report.RehearsedOn // nil if the program cannot have it
	fits bool
}

// fitTo finds the cheapest change with which a program fits that did not fit, and adds it.
func (r *Rehearsal) fitTo(ctx context.Context, g imitation.GPU, args []string, found *report.Rehearsal) error {
	most := found.Most()
	if most == nil || found.Failed() {
		return nil
	}
	found.Fit = &report.Fit{Total: g.Total, Fits: found.Fits, Rehearsals: 1}
	if found.Fits {
		found.Fit.Take(most)
		return nil
	}
	f := &fitting{Rehearsal: r, gpu: g, rank: most.Rank, args: args, found: found, fit: found.Fit}
	f.runs.Store(2)
	defer func() { f.fit.Rehearsals = int(f.runs.Load()) }()
	if f.whole, f.model = r.whole(ctx, trial{gpu: g, rank: most.Rank, endless: true}, args); f.whole == nil {
		return ctx.Err()
	}
	found.Need(f.whole, fitsOn(f.whole.Most(), g.Context))
	r.comment("it needs %s; looking for what makes it fit", quantity.Bytes(f.whole.Most().Full()))
	if best := f.cheapest(ctx); best != nil {
		return f.take(best)
	}
	return ctx.Err()
}

// cheapest returns the first change that is enough, nil if none is.
func (f *fitting) cheapest(ctx context.Context) *weighed {
	free := f.free(ctx)
	if free.fits {
		return free
	}
	base, short := free.change, free.on.Full()
	all, cast, away := recompute(f.model, f.model.Blocks), autocast(f.model), offload(f.model)
	best := f.weigh(ctx, all.and(base))[0]
	if best.on != nil && !best.fits {
		if more := f.lacking(base, best.on); more.text != "" {
			if its := f.weigh(ctx, all.and(base).and(more))[0]; its.on != nil {
				base, best = base.and(more), its
			}
		}
	}
	if best.fits {
		return f.fewest(ctx, base, short, &best)
	}
	two := f.weigh(ctx, cast.and(base), cast.and(all).and(base))
	switch {
	case two[0].fits:
		return &two[0]
	case two[1].fits && two[0].on == nil:
		return &two[1]
	case two[1].fits:
		return f.fewest(ctx, two[0].change, two[0].on.Full(), &two[1])
	}
	two = f.weigh(ctx, away.and(base), cast.and(away).and(base))
	if i := slices.IndexFunc(two, func(w weighed) bool { return w.fits }); i >= 0 {
		return &two[i]
	}
	return nil
}

// free returns the changes that cost no time, if the program can have them and takes less with them: the allocator's
// setting, and with it the arguments that findings call for.
func (f *fitting) free(ctx context.Context) *weighed {
	needs := f.whole.Most()
	var setting change
	if !needs.Expandable() {
		setting = change{text: "expandable segments", conf: expandable}
	}
	tried := []change{setting, setting.and(f.lacking(setting, needs))}
	tried = slices.DeleteFunc(tried, func(c change) bool { return c.text == "" })
	best := &weighed{on: needs}
	for _, its := range f.weigh(ctx, slices.CompactFunc(tried, func(a, b change) bool { return a.text == b.text })...) {
		if its.fits && !best.fits || its.on != nil && its.on.Full() < best.on.Full() {
			best = &its
		}
	}
	return best
}

// lacking returns the arguments that findings of a device call for and that a change does not have.
func (f *fitting) lacking(c change, on *report.RehearsedOn) (more change) {
	for _, argument := range arguments(f.model, on) {
		if argument.refused == "" && !strings.Contains(c.text, argument.text) {
			more = more.and(argument)
		}
	}
	return more
}

// fewest returns the fewest blocks whose recomputation is enough beside a change with which the program takes too much,
// and with which that of all blocks is enough. Those that free the most come first, and of equal ones those that the
// forward pass runs first: they are computed again when less is left to free.
func (f *fitting) fewest(ctx context.Context, with change, short int64, all *weighed) *weighed {
	blocks := slices.Clone(f.model.Blocks)
	slices.SortStableFunc(blocks, func(a, b python.Block) int { return cmp.Compare(b.Frees, a.Frees) })
	fails, fits, best := 0, len(blocks), all
	for fits-fails > 1 && f.runs.Load() < mostRuns {
		next := between(blocks, fails, fits, short-f.gpu.Total)
		var tried []change
		for _, n := range next {
			tried = append(tried, f.recompute(blocks[:n]).and(with))
		}
		for i, its := range f.weigh(ctx, tried...) {
			switch {
			case its.on == nil:
				return best
			case its.fits && next[i] < fits:
				fits, best = next[i], &its
			case !its.fits && next[i] > fails:
				fails, short = next[i], its.on.Full()
			}
		}
	}
	f.fit.Fewest = fits-fails == 1
	return best
}

// between returns one or two numbers of blocks to try: the number that frees the bytes that are missing with one that is
// not enough, and the next smaller one; or the middle of the open ones, where more would free them than are enough.
func between(blocks []python.Block, fails, fits int, missing int64) (next []int) {
	likely := fails
	for likely < fits && missing > 0 {
		missing -= blocks[likely].Frees
		likely++
	}
	if likely == fails || likely == fits {
		return []int{fails + (fits-fails)/2}
	}
	if likely-1 > fails {
		return []int{likely, likely - 1}
	}
	return []int{likely}
}

// recompute has the chosen blocks recomputed; they are named in the order of the forward pass.
func (f *fitting) recompute(chosen []python.Block) change {
	ordered := slices.DeleteFunc(slices.Clone(f.model.Blocks), func(b python.Block) bool { return !slices.Contains(chosen, b) })
	return recompute(f.model, ordered)
}

// weigh rehearses a command with several changes, and adds the results. A run without a limit says what it takes. If
// that is not more than there is, the same requests succeed; if what is allocated is more, they cannot. Otherwise a run
// with the limit decides.
func (f *fitting) weigh(ctx context.Context, changes ...change) []weighed {
	list := make([]weighed, len(changes))
	inParallel(len(changes), func(i int) {
		w := &list[i]
		w.change = changes[i]
		if w.refused == "" {
			f.rehearse(ctx, w)
		}
	})
	for i := range list {
		if w := &list[i]; w.on == nil {
			f.found.Refused(w.text, w.refused)
		} else {
			f.found.Weighed(w.text, w.on, f.whole, w.fits)
			f.comment("%s: %s, %s", w.text, quantity.Bytes(w.on.Full()), map[bool]string{true: "fits", false: "too much"}[w.fits])
		}
	}
	return list
}

func (f *fitting) rehearse(ctx context.Context, w *weighed) {
	t := trial{gpu: f.gpu, rank: f.rank, endless: true, with: w.change}
	if !f.mayRun() {
		w.refused = notTried
		return
	}
	its, err := f.tryOne(ctx, t, f.args)
	if w.refused = w.whyNot(its, err); w.refused == "" && w.conf != "" && !its.Most().Expandable() {
		w.refused = setsItself
	}
	if w.refused != "" {
		return
	}
	w.on = its.Most()
	w.fits = w.on.Full() <= f.gpu.Total
	if w.fits || w.on.PeakAllocated+f.gpu.Context > f.gpu.Total {
		return
	}
	t.endless = false
	if !f.mayRun() {
		w.on, w.refused = nil, notTried
		return
	}
	if its, err = f.tryOne(ctx, t, f.args); err == nil && its.Fits && its.Most() != nil {
		w.on, w.fits = its.Most(), true
	}
}

// notTried is why a change has no result that may have one.
var notTried = fmt.Sprintf("not tried: %d rehearsals were made", mostRuns)

// mayRun counts a rehearsal, and reports whether it may be made.
func (f *fitting) mayRun() bool {
	if f.runs.Add(1) <= mostRuns {
		return true
	}
	f.runs.Add(-1)
	return false
}

// take adds the answer.
func (f *fitting) take(best *weighed) error {
	f.fit.Fits, f.fit.Change = true, best.text
	f.fit.Take(best.on)
	if best.conf != "" {
		f.fit.Settings = allocatorVariable(os.Environ()) + "=" + best.conf
	}
	if best.edit == nil {
		return nil
	}
	source, err := os.ReadFile(best.edit.File)
	if err != nil {
		return err
	}
	f.fit.Patch = patch(best.edit, string(source))
	return nil
}
