package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/snapshots/analysis/whatif"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// question is a question with the data that every replay of it needs.
type question struct {
	whatif.Question
	settings  string      // the recorded ones
	rules     alloc.Rules // of the recording's writer, as far as its name says
	possible  []alloc.Rules
	unknown   error // why the recorded settings cannot be used; then the defaults replace them
	start     start
	curve     curve
	pools     trace.Pools
	whole     []trace.Pool // pools that hand out whole blocks
	givesBack bool         // with the recorded settings the allocator gives memory back early
	limited   bool         // the recorded settings have a memory fraction
	suggested bool         // the settings are those of [whatif.Useful]
}

// memory returns the device's memory, from the question or else from the trace.
func (q *question) memory() int64 {
	switch {
	case q.Memory > 0:
		return q.Memory
	case q.curve.capacity() > 0:
		return q.curve.capacity()
	default:
		return plenty
	}
}

// Limits of a replay: the time to find a stream or a pool grows with their
// number, and no program has so many.
const most = 1000

// Answer implements [whatif.Ask].[whatif.Ask].
func Answer(ctx context.Context, asked whatif.Question) (*whatif.Answer, error) {
	q := &question{Question: asked}
	if err := q.prepare(); err != nil {
		return nil, err
	}
	trials, err := q.trials()
	if err != nil {
		return nil, err
	}
	answer := &whatif.Answer{Device: q.Device.ID, Memory: q.Memory, Runs: make([]whatif.Run, 0, len(trials))}
	r := &answer.Recorded
	r.Settings, r.PeakReserved, r.OOM, r.Held = q.settings, q.curve.peak, q.curve.oom, heldIn(&q.start.state)
	r.Capacity, r.Refused = q.curve.capacity(), q.curve.refused
	if r.WhyNot = q.refusal(); r.WhyNot != "" {
		return answer, q.check()
	}
	if err := q.reproduce(ctx, r); err != nil {
		return nil, err
	}
	if q.Exact && r.WhyNot != "" {
		return answer, nil
	}
	if trials, err = q.trials(); err != nil { // now that the rules are known
		return nil, err
	}
	if answer.Again, err = q.try(ctx, trial{settings: q.settings, rules: q.rules}); err != nil {
		return nil, err
	}
	for _, t := range trials {
		run, err := q.try(ctx, t)
		if err != nil {
			return nil, err
		}
		answer.Runs = append(answer.Runs, *run)
	}
	for _, change := range q.Graphs {
		run, err := q.try(ctx, trial{settings: q.settings, rules: q.rules, graphs: change})
		if err != nil {
			return nil, err
		}
		answer.Graphs = append(answer.Graphs, *run)
	}
	return answer, nil
}

// prepare reads the facts of the recording.
func (q *question) prepare() error {
	q.settings = whatif.SettingsOf(q.Trace, q.Device)
	a, err := alloc.New(newCounted(plenty), alloc.Options{Config: q.settings})
	if err != nil {
		q.unknown, q.settings = err, ""
		if a, err = alloc.New(newCounted(plenty), alloc.Options{}); err != nil {
			return err
		}
	}
	_, q.limited = a.Limit()
	q.possible = rulesOf(q.Trace.Info.Writer, q.settings)
	q.rules = q.possible[0]
	switch {
	case q.Settings == nil && len(q.Releases) > 0:
		q.Settings = []string{q.settings}
	case q.Settings == nil:
		q.Settings, q.suggested = whatif.Useful(q.settings, q.Memory), true
	}
	q.givesBack = collects(a) || a.Stats().MaxSplitSize >= 0
	q.start = startOf(q.Trace, q.Device)
	q.curve = curveOf(a, q.Device, &q.start.state, q.Event)
	q.pools = trace.NewPools(q.Trace, q.Device)
	return q.check()
}

// check checks that what is to be tried is valid.
func (q *question) check() error {
	trials, err := q.trials()
	if err != nil {
		return err
	}
	for _, t := range trials {
		if _, err := newProgram(q, t); err != nil {
			return settingsError(t.settings, err)
		}
	}
	return nil
}

func settingsError(settings string, err error) error {
	e := &whatif.SettingsError{Settings: settings, Cause: err.Error(), Remedy: "--alloc-conf expandable_segments:True,max_split_size_mb:128"}
	var config *alloc.ConfigError
	switch {
	case errors.Is(err, errUnknownMemory):
		e.Remedy = "--device-memory 80GiB"
	case errors.As(err, &config) && config.Key != "":
		e.Cause = config.Key + ": " + config.Reason
	case errors.As(err, &config):
		e.Cause = config.Reason
	}
	return e
}

// refusal says why nothing can be replayed, "" when it can.
func (q *question) refusal() string {
	switch {
	case trace.NewGeometry(q.Trace.Settings).Uncached:
		return "the device has no caching allocator, so there are no settings to try"
	case q.Device.Events.Len() == 0:
		return "the file has no history: recording was off, or only the state was recorded"
	case q.Device.Events.Len() == 1:
		return "the file has a history of one event, which is what recording only the state leaves"
	case len(q.Trace.Tables.Streams) > most || len(q.Trace.Tables.Pools) > most:
		return fmt.Sprintf("the file names more than %s streams or pools, as no program has", quantity.Count(most))
	}
	return ""
}

func heldIn(s *trace.State) int64 {
	sum := int64(0)
	for i := range s.Segments {
		for k := range s.Segments[i].Blocks {
			sum += s.Segments[i].Blocks[k].LiveRequested()
		}
	}
	return sum
}

// try runs the program under some settings and rules.
func (q *question) try(ctx context.Context, t trial) (*whatif.Run, error) {
	p, err := newProgram(q, t)
	if err != nil {
		return nil, settingsError(t.settings, err)
	}
	if err := p.do(ctx); err != nil {
		return nil, err
	}
	return &p.run, nil
}
