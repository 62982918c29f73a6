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
// has the report on each rank. A rank that cannot be read gets a row with its
// problem, and makes the command fail in the end.
func (l *loader) reportRanks(ctx context.Context, files []ranks.File) error {
	rows, each := make([]ranks.Row, len(files)), make([]json.RawMessage, len(files))
	failed, err := l.eachRank(ctx, files, func(at int, t *trace.Trace) (err error) {
		rows[at], each[at], err = l.reportRank(ctx, &files[at], t)
		return err
	})
	if err != nil {
		return err
	}
	var first error
	for i, err := range failed {
		if err != nil {
			rows[i], each[i] = problemOf(&files[i], err), nil
		}
		if first == nil {
			first = err
		}
	}
	r, err := report.NewRanks(rows, each)
	if err == nil {
		err = l.print(r)
	}
	return cmp.Or(err, first)
}

// eachRank reads ranks, calls use for each, and returns the errors of each.
func (l *loader) eachRank(ctx context.Context, files []ranks.File, use func(at int, t *trace.Trace) error) ([]error, error) {
	failed, infos := make([]error, len(files)), make([]trace.Info, len(files))
	l.readRanks(ctx, files, func(at int, t *trace.Trace, err error) {
		if err == nil {
			infos[at] = t.Info
			t, err = l.settings.chosen(t)
		}
		if err == nil {
			err = use(at, t)
		}
		failed[at] = err
	})
	for i := range infos {
		l.noteCut(&infos[i])
	}
	return failed, context.Cause(ctx)
}

// reportRank returns the row of a rank, and for JSON the report on it.
func (l *loader) reportRank(ctx context.Context, f *ranks.File, t *trace.Trace) (ranks.Row, json.RawMessage, error) {
	indexes := analysis.Indexes(t)
	x := ranks.Fullest(indexes)
	if x == nil {
		return ranks.Row{}, nil, errNoDevice
	}
	row := f.Row(x)
	if !l.settings.json {
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
	failed, err := l.eachRank(ctx, files, func(at int, t *trace.Trace) (err error) {
		gates[at], err = gateOf(files[at].Path, t, limits)
		return err
	})
	if err != nil {
		return err
	}
	all := report.NewRankGates()
	var first error
	for i, err := range failed {
		row := files[i].Without("")
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
