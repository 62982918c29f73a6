package rehearse

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/snapshots/analysis/growing"
	"github.com/memtop/memtop/snapshots/report"
)

// Varied rehearses a command with several values and says which is the largest that fits
// each GPU.
func (r *Rehearsal) Varied(ctx context.Context, gpus []imitation.GPU, args []string) ([]*report.Vary, error) {
	if slices.Equal(r.Vary.in(args, 0), args) {
		return nil, command.Usage("the command has no {"+r.Vary.Name+"}", "memtop rehearse --help")
	}
	var all []*report.Vary
	for _, g := range gpus {
		v, err := r.varyOn(ctx, g, args)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// varyOn finds the largest value that fits a GPU.
func (r *Rehearsal) varyOn(ctx context.Context, g imitation.GPU, args []string) (*report.Vary, error) {
	v := &report.Vary{Name: r.Vary.Name, GPU: g.Name, Title: g.Title}
	search := growing.NewSearch(r.Vary.values)
	try := func(t trial, values ...int64) error { return r.tryAll(ctx, t, args, values, v) }
	ends := slices.Compact([]int64{r.Vary.values[0], r.Vary.values[len(r.Vary.values)-1]})
	if err := try(trial{gpu: g, endless: true}, ends...); err != nil {
		return nil, err
	}
	if err := settle(v, search, &g, func(value int64) error { return try(trial{gpu: g}, value) }); err != nil {
		return nil, err
	}
	for {
		value, more := search.Next(v.Guess(r.Vary.values, g.Total))
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

// settle decides which runs with unlimited memory would fit, if their numbers
// show it. A run that reserved no more than the limit would make the same
// requests, and allocated memory must be there in any case. If the numbers do not
// decide, the value is tried.
func settle(v *report.Vary, search *growing.Search, g *imitation.GPU, try func(value int64) error) error {
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
func (r *Rehearsal) tryAll(ctx context.Context, t trial, args []string, values []int64, v *report.Vary) error {
	results, failures := make([]*report.Rehearsal, len(values)), make([]error, len(values))
	inParallel(len(values), func(i int) { results[i], failures[i] = r.tryOne(ctx, t, r.Vary.in(args, values[i])) })
	for i, value := range values {
		if failures[i] != nil {
			return failures[i]
		}
		v.Add(report.NewVaryRun(value, results[i], results[i].Fits))
	}
	return nil
}

// tryOne rehearses a command, and shows its output only if it fails for a reason
// other than memory.
func (r *Rehearsal) tryOne(ctx context.Context, t trial, args []string) (*report.Rehearsal, error) {
	said := &lastLines{}
	t.again = true
	found, code, err := r.once(ctx, t, args, Streams{Stdout: said, Stderr: said}, nil)
	if err == nil && found.Failed() {
		err = Failed(code, args)
	}
	if err != nil {
		_, _ = io.WriteString(r.Said, said.String()) // the error says the rest
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
