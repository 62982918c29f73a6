package main

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/memtop/memtop/engine/replay"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// reportRanks prints the differences between ranks and a row for each; JSON also
// has the report on each rank. Of several iterations it does so for the last, with a row
// for each of them. A rank that cannot be read gets a row with its problem, and makes the
// command fail in the end.
func (l *loader) reportRanks(ctx context.Context, iterations ...[]ranks.File) error {
	all := make([][]ranks.Row, len(iterations))
	var each []json.RawMessage
	var first error
	for i, files := range iterations {
		whole := l.settings.json && i == len(iterations)-1
		rows := make([]ranks.Row, len(files))
		each = make([]json.RawMessage, len(files))
		failed, err := l.eachRank(ctx, files, func(at int, t *trace.Trace, a *report.Answer) (err error) {
			rows[at], each[at], err = reportRank(ctx, &files[at], t, a, whole)
			return err
		})
		if err != nil {
			return err
		}
		for at, err := range failed {
			if err != nil {
				rows[at], each[at] = problemOf(&files[at], err), nil
			}
			first = cmp.Or(first, err)
		}
		all[i] = rows
	}
	r, err := report.NewRanks(all[len(all)-1], each)
	if err == nil && len(all) > 1 {
		r.SetIterations(all)
	}
	if err == nil {
		err = l.print(r)
	}
	return cmp.Or(err, first)
}

// eachRank reads ranks, calls use for the trace or the answer of each, and returns the
// errors of each.
func (l *loader) eachRank(ctx context.Context, files []ranks.File, use func(at int, t *trace.Trace, a *report.Answer) error) ([]error, error) {
	failed, infos := make([]error, len(files)), make([]trace.Info, len(files))
	l.readRanks(ctx, files, func(at int, t *trace.Trace, err error) {
		a := l.answers[files[at].Path].Answer
		switch {
		case err != nil:
		case a != nil:
			infos[at] = trace.Info{Path: files[at].Path, Kind: a.Source.Kind, Truncated: a.Source.Truncated}
		default:
			infos[at] = t.Info
			t, err = l.settings.chosen(t)
		}
		if err == nil {
			err = use(at, t, a)
		}
		failed[at] = err
	})
	for i := range infos {
		l.noteCut(&infos[i])
	}
	return failed, context.Cause(ctx)
}

// reportRank returns the row of a rank by its trace or its answer, and if whole the
// report on it as JSON.
func reportRank(ctx context.Context, f *ranks.File, t *trace.Trace, a *report.Answer, whole bool) (ranks.Row, json.RawMessage, error) {
	if a != nil {
		row := a.Row(f)
		return row, a.OfRank(&row), nil
	}
	indexes := analysis.Indexes(t)
	x := ranks.Fullest(indexes)
	if x == nil {
		return ranks.Row{}, nil, errNoDevice
	}
	row := report.RankRow(f, x)
	if !whole {
		return row, json.RawMessage("null"), nil
	}
	r := report.OfRank(t, indexes, &row)
	if err := r.Replay(ctx, replay.Answer); err != nil {
		return row, nil, err
	}
	text, err := json.Marshal(r)
	return row, text, err
}

// checkRanks checks each rank, or each of several files, against the limits.
func (l *loader) checkRanks(ctx context.Context, files []ranks.File, limits report.Limits) error {
	gates := make([]*report.Gate, len(files))
	failed, err := l.eachRank(ctx, files, func(at int, t *trace.Trace, a *report.Answer) (err error) {
		if a != nil {
			gates[at], err = a.Gate(limits)
		} else {
			gates[at], err = report.NewGate(t, limits)
		}
		return unmeasured(files[at].Path, err)
	})
	if err != nil {
		return err
	}
	all := report.NewRankGates()
	var first error
	for i, err := range failed {
		row := files[i].Without("")
		if a := l.answers[files[i].Path].Answer; a != nil {
			row.Name = cmp.Or(a.Source.Path, row.Name)
		}
		if err != nil {
			row = problemOf(&files[i], err)
		}
		if all.Add(&row, gates[i]); first == nil {
			first = err
		}
	}
	err = l.print(all)
	switch broken := all.Broken(); {
	case err != nil:
		return err
	case broken != "":
		return exceeded(broken, "the sites are on standard output")
	}
	return first
}
