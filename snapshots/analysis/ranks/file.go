package ranks

import (
	"slices"

	"github.com/memtop/memtop/snapshots/analysis"
	"github.com/memtop/memtop/snapshots/trace"
)

// File is the file of one rank of a job, or a process that gives its snapshot.
type File struct {
	Path  string // or a process, as the command line names it
	Place trace.Rank
	Host  string
	PID   int
}

// Files returns files as the ranks of a job, in the order of ranks. The function
// recorded gives the rank that a file itself has; else the names of the files
// give it. Files returns nil if the files are not the ranks of one job.
func Files(paths []string, recorded func(path string) *trace.Rank) []File {
	files := recordedFiles(paths, recorded)
	if numbers, ok := byName(paths); ok && len(paths) > 1 && files == nil {
		for i, path := range paths {
			files = append(files, File{Path: path, Place: trace.Rank{Rank: numbers[i]}})
		}
	}
	slices.SortFunc(files, func(a, b File) int { return a.Place.Rank - b.Place.Rank })
	return files
}

// Alone returns one file as a rank, of which the name may say the number.
func Alone(path string) File {
	f := File{Path: path, Place: trace.Rank{Rank: Unranked}}
	if numbers, ok := byName([]string{path}); ok {
		f.Place.Rank = numbers[0]
	}
	return f
}

// recordedFiles returns recordings as the ranks of one job, by the ranks that
// they have. It returns nil if one of them has no rank, if two have the same, or
// if they are of several jobs.
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

// Row returns the row of a rank whose file was read. A recording has its own
// rank.
func (f *File) Row(x *analysis.Index) Row {
	r := Of(x)
	if r.World == 0 {
		r.Rank = f.Place
	}
	r.Name, r.Host, r.PID = f.Path, f.Host, f.PID
	return r
}

// Without returns the row of a rank whose file cannot be read, or has not been
// read yet.
func (f *File) Without(problem string) Row {
	return Row{Rank: f.Place, Name: f.Path, Host: f.Host, PID: f.PID, Problem: problem, Capacity: -1, Others: -1}
}

// Fullest returns the index of the device that matters most: the device that ran
// out of memory, else the device with the highest peak. It returns nil if there
// are no devices.
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
