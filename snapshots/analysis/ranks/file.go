package ranks

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// File is a rank of a job as a file, or as a process whose snapshot is looked at.
type File struct {
	Path  string // or a process, as the command line names it
	Place trace.Rank
	Host  string
	PID   int
}

// Files returns files as the ranks that they say they are, as recorded tells of a path, or
// else their names, in the order of ranks; nil for files that are none.
func Files(paths []string, recorded func(path string) *trace.Rank) []File {
	files := recordedFiles(paths, recorded)
	if numbers, ok := byName(paths); ok && files == nil {
		for i, path := range paths {
			files = append(files, File{Path: path, Place: trace.Rank{Rank: numbers[i]}})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return a.Place.Rank - b.Place.Rank })
	return files
}

// recordedFiles returns recordings as the ranks of the one job that they say they are of;
// nil for files of which one says no such thing, or two the same.
func recordedFiles(paths []string, recorded func(path string) *trace.Rank) []File {
	var files []File
	for _, path := range paths {
		place := recorded(path)
		if place == nil || slices.ContainsFunc(files, func(f File) bool {
			return f.Place.Job != place.Job || f.Place.World != place.World || f.Place.Rank == place.Rank
		}) {
			return nil
		}
		files = append(files, File{Path: path, Place: *place})
	}
	if len(files) < 2 {
		return nil
	}
	return files
}

// Row returns the row of a rank that was read. A recording says itself which rank it is.
func (f *File) Row(x *analysis.Index) Row {
	r := Of(x)
	if r.World == 0 {
		r.Rank = f.Place
	}
	r.Name, r.Host, r.PID = f.Path, f.Host, f.PID
	return r
}

// Without returns the row of a rank that cannot be read, or has not been.
func (f *File) Without(problem string) Row {
	return Row{Rank: f.Place, Name: f.Path, Host: f.Host, PID: f.PID, Problem: problem, Capacity: -1, Others: -1}
}

// Fullest returns the index of the device that matters most: that ran out of memory, or
// else had the highest peak. There may be none.
func Fullest(indexes []*analysis.Index) *analysis.Index {
	var most *analysis.Index
	for _, x := range indexes {
		if most == nil || failures(x) > failures(most) || failures(x) == failures(most) && x.Summary().PeakRequested > most.Summary().PeakRequested {
			most = x
		}
	}
	return most
}

func failures(x *analysis.Index) int { return len(x.OOMEvents()) }
