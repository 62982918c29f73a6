package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/snapshots/analysis/growing"
	"github.com/memtop/memtop/snapshots/report"
)

// variation is a name in a command and the values that it takes, ascending.
type variation struct {
	name   string
	values []int64
}

// String returns nothing: a variation has no default.
func (v *variation) String() string { return "" }

// Type names what follows the flag.
func (v *variation) Type() string { return "NAME=VALUES" }

// mostValues is how many values may be varied over.
const mostValues = 1 << 20

// Set reads NAME=1..64 or NAME=1,2,4.
func (v *variation) Set(text string) error {
	name, values, is := strings.Cut(text, "=")
	if !is || name == "" {
		return fmt.Errorf("want NAME=FIRST..LAST or NAME=VALUE,VALUE")
	}
	v.name, v.values = name, nil
	first, last, isRange := strings.Cut(values, "..")
	if !isRange {
		for _, value := range strings.Split(values, ",") {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return fmt.Errorf("%q is no whole number", value)
			}
			v.values = append(v.values, n)
		}
		slices.Sort(v.values)
		v.values = slices.Compact(v.values)
		return nil
	}
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no whole number", first)
	}
	to, err := strconv.ParseInt(last, 10, 64)
	if err != nil || to < from || to-from >= mostValues {
		return fmt.Errorf("%q does not end a range from %d of at most %d", last, from, mostValues)
	}
	for n := from; n <= to; n++ {
		v.values = append(v.values, n)
	}
	return nil
}

// in returns a command with a value in the place of the name.
func (v *variation) in(args []string, value int64) []string {
	replaced := make([]string, len(args))
	for i, arg := range args {
		replaced[i] = strings.ReplaceAll(arg, "{"+v.name+"}", strconv.FormatInt(value, 10))
	}
	return replaced
}

// vary rehearses a command with several values and prints the largest that fits each GPU.
func (a *app) vary(ctx context.Context, r *rehearsal, gpus []imitation.GPU, args []string) error {
	if slices.Equal(r.vary.in(args, 0), args) {
		return command.Usage("the command has no {"+r.vary.name+"}", "memtop rehearse --help")
	}
	var all []*report.Vary
	for _, g := range gpus {
		v, err := a.varyOn(ctx, r, g, args)
		if err != nil {
			return err
		}
		if len(gpus) == 1 {
			v.Others = byLaw(v, r.vary.values, g)
		}
		all = append(all, v)
	}
	if a.settings.json {
		return a.printJSON(&report.Varied{Schema: report.RehearsalSchema, Command: args, Vary: all[0], On: all})
	}
	for i, v := range all {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := v.Text(a.stdout, a.width()); err != nil {
			return err
		}
	}
	return nil
}

// varyOn finds the largest value that fits a GPU.
func (a *app) varyOn(ctx context.Context, r *rehearsal, g imitation.GPU, args []string) (*report.Vary, error) {
	v := &report.Vary{Name: r.vary.name, GPU: g.Name, Title: g.Title}
	search := growing.NewSearch(r.vary.values)
	try := func(t trial, values ...int64) error { return a.tryAll(ctx, r, t, args, values, v) }
	ends := slices.Compact([]int64{r.vary.values[0], r.vary.values[len(r.vary.values)-1]})
	if err := try(trial{gpu: g, endless: true}, ends...); err != nil {
		return nil, err
	}
	if err := a.settle(v, search, &g, func(value int64) error { return try(trial{gpu: g}, value) }); err != nil {
		return nil, err
	}
	for {
		value, more := search.Next(v.Guess(r.vary.values, g.Total))
		if !more {
			break
		}
		if err := try(trial{gpu: g}, value); err != nil {
			return nil, err
		}
		search.Say(value, v.Fits(value))
	}
	if largest, found, _ := search.Done(); found {
		v.Largest = &largest
	}
	v.Conclude()
	return v, nil
}

// byLaw says of the other GPUs of the catalogue which value is the largest that fits by
// the law.
func byLaw(v *report.Vary, values []int64, g imitation.GPU) (list []report.LargestByLaw) {
	for _, other := range imitation.Catalogue() {
		if n, _ := v.Guess(values, other.Total-other.Context+g.Context); n > 0 && other.Name != g.Name {
			list = append(list, report.LargestByLaw{GPU: other.Name, Largest: values[n-1]})
		}
	}
	return list
}

// settle says of the runs with endless memory whether they fit, where their numbers show
// it: what would have fitted asks for the same, and what was allocated must be there. Where
// they do not, it has the value tried.
func (a *app) settle(v *report.Vary, search *growing.Search, g *imitation.GPU, try func(value int64) error) error {
	for _, run := range slices.Clone(v.Runs) {
		switch {
		case run.DeviceBytes <= g.Total:
		case run.PeakAllocated+g.Context > g.Total:
			v.Note(run.Value, false)
		default:
			if err := try(run.Value); err != nil {
				return err
			}
		}
		search.Say(run.Value, v.Fits(run.Value))
	}
	return nil
}

// tryAll rehearses a command with several values, as many at once as there are cores.
func (a *app) tryAll(ctx context.Context, r *rehearsal, t trial, args []string, values []int64, v *report.Vary) error {
	results, failures := make([]*report.Rehearsal, len(values)), make([]error, len(values))
	inParallel(len(values), func(i int) { results[i], failures[i] = a.tryOne(ctx, r, t, r.vary.in(args, values[i])) })
	for i, value := range values {
		if failures[i] != nil {
			return failures[i]
		}
		v.Add(report.NewVaryRun(value, results[i], results[i].Fits))
	}
	return nil
}

// tryOne rehearses a command whose output is not shown unless it fails for a reason of its own.
func (a *app) tryOne(ctx context.Context, r *rehearsal, t trial, args []string) (*report.Rehearsal, error) {
	said := &lastLines{}
	found, code, err := a.rehearseOnce(ctx, r, t, args, streams{stdout: said, stderr: said}, nil)
	if err == nil && found.Fits && code != 0 {
		err = programFailedError{code, strings.Join(args, " ")}
	}
	if err != nil {
		_, _ = io.WriteString(a.stderr, said.String()) // the error says the rest
	}
	return found, err
}

// lastLines keeps the end of what is written. It is safe for concurrent use.
type lastLines struct {
	lock sync.Mutex
	text []byte
}

// keptOutput is how much of a program's output is kept, in bytes.
const keptOutput = 4 << 10

// Write keeps the end.
func (l *lastLines) Write(p []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-keptOutput):]
	return len(p), nil
}

// String returns what was kept.
func (l *lastLines) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return string(l.text)
}
