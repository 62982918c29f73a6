package snapshots

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Folder is a folder of snapshots.
type Folder struct {
	Path  string
	Files []string // rank2 before rank10
}

// extensions are those of the files that a folder stands for. A file that the user names may have any name.
var extensions = []string{".pickle", ".pkl", ".mtr", ".pickle.gz", ".pkl.gz", ".pickle.zst", ".pkl.zst", ".mtr.zst"}

// Folders returns a folder with the snapshots in it. One without any may have folders with some, such as the iterations of
// torchtitan: then it returns these, iteration_9 before iteration_10. In a folder without a snapshot, the answers of memtop
// report stand for the snapshots that lie elsewhere. It returns nothing for a folder that has neither, and for a path that is
// no folder.
func Folders(path string) ([]Folder, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, nil //nolint:nilerr // whoever opens the path reports the error
	}
	files, inside, err := list(path)
	if err != nil || len(files) > 0 {
		return []Folder{{path, files}}, err
	}
	var folders []Folder
	for _, folder := range inside {
		files, _, err := list(folder)
		if err != nil {
			return nil, err
		}
		if len(files) > 0 {
			folders = append(folders, Folder{folder, files})
		}
	}
	return folders, nil
}

// list returns the snapshots, else the answers, and the folders in a folder.
func list(path string) (files, folders []string, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return naturally(a.Name(), b.Name()) })
	var answers []string
	for _, entry := range entries {
		name := filepath.Join(path, entry.Name())
		info, err := os.Stat(name) // of what a link names
		switch {
		case err != nil:
		case info.IsDir():
			folders = append(folders, name)
		case info.Mode().IsRegular() && slices.ContainsFunc(extensions, func(e string) bool { return strings.HasSuffix(entry.Name(), e) }):
			files = append(files, name)
		case strings.HasSuffix(entry.Name(), ".json") && IsAnswer(name):
			answers = append(answers, name)
		}
	}
	if len(files) == 0 {
		files = answers
	}
	return files, folders, nil
}

// naturally compares names with the numbers in them as numbers.
func naturally(a, b string) int {
	for a != "" && b != "" {
		m, n := digits(a), digits(b)
		if m > 0 && n > 0 {
			x, errX := strconv.ParseUint(a[:m], 10, 64)
			y, errY := strconv.ParseUint(b[:n], 10, 64)
			if c := cmp.Compare(x, y); c != 0 && errX == nil && errY == nil {
				return c
			}
		} else {
			m, n = 1, 1
		}
		if c := cmp.Compare(a[:m], b[:n]); c != 0 {
			return c
		}
		a, b = a[m:], b[n:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns how many digits a text begins with.
func digits(text string) int { return len(text) - len(strings.TrimLeft(text, "0123456789")) }
