package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// answer is what memtop report printed of a rank elsewhere, or why it cannot be used.
type answer struct {
	*report.Answer
	err error
}

// withAnswers reads those of the paths that are answers of memtop report, and returns
// the paths. One with several ranks is replaced with a path for each of them.
func (l *loader) withAnswers(paths []string) (all []string) {
	read := make([][]report.Answer, len(paths))
	failed := make([]error, len(paths))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range readAtOnce {
		readers.Go(func() {
			for at := int(next.Add(1)) - 1; at < len(paths); at = int(next.Add(1)) - 1 {
				if snapshots.IsAnswer(paths[at]) {
					read[at], failed[at] = l.readAnswers(paths[at])
				}
			}
		})
	}
	readers.Wait()
	if l.answers == nil {
		l.answers = make(map[string]answer)
	}
	for i, path := range paths {
		if failed[i] != nil {
			l.answers[path] = answer{err: failed[i]}
		}
		for j := range read[i] {
			a, name := &read[i][j], path
			if len(read[i]) > 1 {
				name = fmt.Sprintf("%s, number %d", path, j)
			}
			if len(read[i]) > 1 && a.Place != nil {
				name = fmt.Sprintf("%s, rank %d", path, a.Place.Rank)
			}
			a.Path = cmp.Or(a.Path, name)
			l.answers[name] = answer{Answer: a}
			all = append(all, name)
		}
		if len(read[i]) == 0 {
			all = append(all, path)
		}
	}
	return all
}

// readAnswers reads one file.
func (l *loader) readAnswers(path string) ([]report.Answer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read from
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	damaged := &snapshots.CorruptError{Path: path, Offset: -1, Remedy: "run memtop report --json again where the snapshot lies"}
	if info.Size() > report.MostAnswer {
		damaged.Reason = fmt.Sprintf("an answer has at most %s, and this has %s", quantity.Bytes(report.MostAnswer), quantity.Bytes(info.Size()))
		return nil, damaged
	}
	if most := cmp.Or(int64(l.settings.maxMemory), snapshots.MostMemory()); l.answered.Add(info.Size()) > most {
		return nil, command.Failure{Code: command.ExitError, Cause: fmt.Sprintf("%s: the answers together have more than %s", path, quantity.Bytes(most)), Remedy: "name fewer, or raise --max-memory"}
	}
	text := make([]byte, info.Size())
	if _, err := io.ReadFull(f, text); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	all, err := report.ReadAnswers(text)
	if err != nil {
		damaged.Reason = "this answer of memtop report is damaged: " + err.Error()
		return nil, damaged
	}
	for i := range all {
		if !l.settings.json {
			all[i].JSON = nil // which has all the text
		}
	}
	return all, nil
}

// ranksOf returns files and answers as the ranks of one job, nil if they are not that.
// If neither they nor their names say which, the names of the snapshots may.
func (l *loader) ranksOf(paths []string) []ranks.File {
	recorded := func(path string) *trace.Rank {
		switch a, ok := l.answers[path]; {
		case ok && a.err == nil:
			return a.Place
		case ok:
			return nil
		}
		return snapshots.RankOf(path)
	}
	files := ranks.Files(paths, recorded)
	if files != nil || len(l.answers) == 0 {
		return files
	}
	answered := make(map[string]string)
	names := make([]string, len(paths))
	for i, path := range paths {
		if names[i] = path; l.answers[path].Answer != nil {
			names[i] = l.answers[path].Path
		}
		answered[names[i]] = path
	}
	files = ranks.Files(names, func(string) *trace.Rank { return nil })
	for i := range files {
		files[i].Path = answered[files[i].Path]
	}
	return files
}

// usable returns why an answer cannot be used, nil if it can.
func (l *loader) usable(a *answer) error {
	switch {
	case a.err != nil:
		return a.err
	case a.Problem != "":
		return command.Failure{Code: command.ExitCorrupt, Cause: a.Problem}
	case l.settings.device >= 0 && !a.Only(l.settings.device):
		return command.Usage(fmt.Sprintf("%s is not of device %d alone", a.Path, l.settings.device), "memtop report --json --device where the snapshot lies")
	}
	return nil
}

// unranked returns why answers cannot be compared.
func (l *loader) unranked(paths []string) error {
	for _, path := range paths {
		if a := l.answers[path]; a.err != nil {
			return a.err
		}
	}
	if len(paths) == 1 {
		return command.Usage(paths[0]+" is of one rank", "memtop report with those of the other ranks too")
	}
	return command.Usage("the answers do not say of which ranks they are, or two are of the same", "names such as rank0.json and rank1.json")
}
