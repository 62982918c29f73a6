package main

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/memtop/memtop/engine/replay"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// reportRanks prints the differences between ranks and a row for each; JSON also
// has the report on each rank. A rank that cannot be read gets a row with its
// problem, and makes the command fail in the end.
func (l *loader) reportRanks(ctx context.Context, files []ranks.File) error {
	rows, each, failed, err := l.readReports(ctx, files, l.settings.json)
	if err != nil {
		return err
	}
	r, err := report.NewRanks(rows, each)
	if err == nil {
		err = l.print(r)
	}
	return cmp.Or(err, failed)
}

// reportIterations is reportRanks for the last of several folders, with a row for each
// of them.
func (l *loader) reportIterations(ctx context.Context, folders []snapshots.Folder) error {
	last := len(folders) - 1
	all := make([]ranks.Iteration, len(folders))
	var each []json.RawMessage
	var first error
	for i, folder := range folders {
		paths := l.withAnswers(folder.Files)
		files := l.ranksOf(paths)
		if files == nil {
			files = ranks.Alone(paths)
		}
		rows, reports, failed, err := l.readReports(ctx, files, l.settings.json && i == last)
		if err != nil {
			return err
		}
		all[i], each, first = ranks.Iteration{Path: folder.Path, Rows: rows}, reports, cmp.Or(first, failed)
	}
	r, err := report.NewRanks(all[last].Rows, each)
	if err == nil {
		r.SetIterations(all)
		err = l.print(r)
	}
	return cmp.Or(err, first)
}

// readReports reads ranks for their rows, and if whole for the report on each as JSON.
// It also returns the first problem of a rank.
func (l *loader) readReports(ctx context.Context, files []ranks.File, whole bool) (rows []ranks.Row, each []json.RawMessage, first, err error) {
	rows, each = make([]ranks.Row, len(files)), make([]json.RawMessage, len(files))
	failed, err := l.eachRank(ctx, files, func(at int, t *trace.Trace, a *report.Answer) (err error) {
		f := &files[at]
		if a != nil {
			rows[at], each[at] = a.Row(f), json.RawMessage("null")
			if whole {
				each[at], err = a.OfRank(&rows[at])
			}
			return err
		}
		rows[at], each[at], err = reportRank(ctx, f, t, whole)
		return err
	})
	for i, err := range failed {
		if err != nil {
			rows[i], each[i] = problemOf(&files[i], err), nil
		}
		first = cmp.Or(first, err)
	}
	return rows, each, first, err
}

// eachRank reads ranks, calls use for the trace or the answer of each, and returns the
// errors of each.
func (l *loader) eachRank(ctx context.Context, files []ranks.File, use func(at int, t *trace.Trace, a *report.Answer) error) ([]error, error) {
	failed, infos := make([]error, len(files)), make([]trace.Info, len(files))
	var unread []ranks.File
	var places []int // of each unread one
	for i := range files {
		a, ok := l.answers[files[i].Path]
		if !ok {
			unread, places = append(unread, files[i]), append(places, i)
			continue
		}
		if failed[i] = l.usable(&a); failed[i] == nil {
			infos[i] = trace.Info{Path: files[i].Path, Kind: a.Kind, Truncated: a.Truncated}
			failed[i] = use(i, nil, a.Answer)
		}
	}
	l.readRanks(ctx, unread, func(at int, t *trace.Trace, err error) {
		at = places[at]
		if err == nil {
			infos[at] = t.Info
			t, err = l.settings.chosen(t)
		}
		if err == nil {
			err = use(at, t, nil)
		}
		failed[at] = err
	})
	for i := range infos {
		l.noteCut(&infos[i])
	}
	return failed, context.Cause(ctx)
}

// reportRank returns the row of a rank, and if whole the report on it as JSON.
func reportRank(ctx context.Context, f *ranks.File, t *trace.Trace, whole bool) (ranks.Row, json.RawMessage, error) {
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
			row.Name = a.Path
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
