package main

import (
	"encoding/json"
	"fmt"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/snapshots"
	"github.com/memtop/memtop/snapshots/analysis/ranks"
	"github.com/memtop/memtop/snapshots/report"
	"github.com/memtop/memtop/snapshots/trace"
)

// answer is what memtop report printed of a rank elsewhere, or why it cannot be used.
type answer struct {
	*report.Answer
	err error
}

// readAnswers reads those of the paths that are answers of memtop report.
func (l *loader) readAnswers(paths []string) {
	read := make([]answer, len(paths))
	fewAtOnce(len(paths), func(_, at int) {
		if text := snapshots.Answer(paths[at], report.MostAnswer+1); text != nil {
			read[at].Answer, read[at].err = l.readAnswer(paths[at], text)
		}
	})
	for i, a := range read {
		if a != (answer{}) {
			l.answers[paths[i]] = a
		}
	}
}

func (l *loader) readAnswer(path string, text []byte) (*report.Answer, error) {
	a, err := report.ReadAnswer(text)
	if err != nil {
		return nil, &snapshots.CorruptError{
			Path: path, Offset: -1, Reason: "this answer of memtop report cannot be used: " + err.Error(), Remedy: "run memtop report --json of each snapshot again where it lies",
		}
	}
	if device := l.settings.device; device >= 0 && (len(a.Devices) != 1 || a.Devices[0].Device != device) {
		return nil, command.Usage(fmt.Sprintf("%s is not of device %d alone", path, device), "memtop report --json --device where the snapshot lies")
	}
	if !l.settings.json {
		a.JSON = json.RawMessage("null") // for it has all the text
	}
	return a, nil
}

// ranksOf returns files and answers as the ranks of one job, nil if they are not that.
func (l *loader) ranksOf(paths []string) []ranks.File {
	return ranks.Files(paths, func(path string) *trace.Rank {
		if a, ok := l.answers[path]; !ok {
			return snapshots.RankOf(path)
		} else if a.err == nil {
			return a.Rank()
		}
		return nil
	})
}

// iterations returns the ranks in each of the folders in a folder, nil where it does not
// have several, or where they have others than ranks.
func (l *loader) iterations(paths []string) (all [][]ranks.File) {
	if len(paths) > 1 {
		return nil
	}
	folders, err := snapshots.Folders(paths[0])
	if err != nil || len(folders) < 2 {
		return nil // what opens it reports the error
	}
	for _, folder := range folders {
		l.readAnswers(folder.Files)
		files := l.ranksOf(folder.Files)
		if len(folder.Files) == 1 {
			files = []ranks.File{ranks.Alone(folder.Files[0])}
		}
		if files == nil {
			return nil
		}
		all = append(all, files)
	}
	return all
}

// unranked returns why answers cannot be compared.
func (l *loader) unranked(paths []string) error {
	for _, path := range paths {
		if err := l.answers[path].err; err != nil {
			return err
		}
	}
	return command.Usage("answers of memtop report are compared with those of other ranks, and these do not say of which ranks they are",
		"memtop report rank0.json rank1.json")
}
