package difference

import (
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/trace"
)

// files returns the files of a table's frames, each once.
func files(t *trace.Tables) []string {
	seen := make(map[trace.StringID]bool)
	var all []string
	for _, f := range t.Frames {
		if file := t.String(f.File); file != "" && !seen[f.File] {
			seen[f.File] = true
			all = append(all, file)
		}
	}
	return all
}

// aligned returns for files that only one side has the name by which both are known:
// that of the first side.
func aligned(a, b []string) [2]map[string]string {
	renamed := [2]map[string]string{1: make(map[string]string)}
	left, right := byBase(a, b), byBase(b, a)
	for base, mine := range left {
		for file, twin := range twins(mine, right[base]) {
			renamed[1][twin] = file
		}
	}
	return renamed
}

// byBase groups the files that the other side lacks by their last part.
func byBase(files, other []string) map[string][]string {
	has := make(map[string]bool, len(other))
	for _, file := range other {
		has[file] = true
	}
	groups := make(map[string][]string)
	for _, file := range files {
		if !has[file] {
			parts := parts(file)
			base := parts[len(parts)-1]
			groups[base] = append(groups[base], file)
		}
	}
	return groups
}

func parts(file string) []string { return strings.Split(lines.Slashed(file), "/") }

// twins pairs files of one name that end alike: the only ones of that name, or those
// that share more of their folders with each other than with any other.
func twins(mine, others []string) map[string]string {
	pairs := make(map[string]string)
	if len(mine) == 1 && len(others) == 1 {
		return map[string]string{mine[0]: others[0]}
	}
	for _, file := range mine {
		if twin, ok := nearest(file, others); ok {
			if back, ok := nearest(twin, mine); ok && back == file {
				pairs[file] = twin
			}
		}
	}
	return pairs
}

// nearest returns the one file whose ending has most in common with that of another: its
// name and at least one folder.
func nearest(file string, others []string) (string, bool) {
	best, most, only := "", 1, false
	for _, other := range others {
		switch n := alike(parts(file), parts(other)); {
		case n > most:
			best, most, only = other, n, true
		case n == most:
			only = false
		}
	}
	return best, only
}

// alike counts the last parts of two paths that are the same.
func alike(a, b []string) int {
	slices.Reverse(a)
	slices.Reverse(b)
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
