package snapshots_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/memtop/memtop/snapshots"
)

func TestAFolderStandsForItsSnapshots(t *testing.T) {
	for name, test := range map[string]struct {
		has            []string
		files, folders []string
	}{
		"by number": {
			[]string{"rank10.pickle", "rank2.pickle", "rank02.pickle", "notes.txt", "a.mtr"},
			[]string{"a.mtr", "rank02.pickle", "rank2.pickle", "rank10.pickle"},
			nil,
		},
		"of the last iteration": {
			[]string{"iteration_9/rank0.pickle", "iteration_20/rank1.pickle.gz", "iteration_20/rank0.pickle.gz", "iteration_30/log"},
			[]string{"iteration_20/rank0.pickle.gz", "iteration_20/rank1.pickle.gz"},
			[]string{"iteration_9", "iteration_20"},
		},
		"its own before those of others": {[]string{"a.pickle", "old/b.pickle"}, []string{"a.pickle"}, nil},
		"none":                           {[]string{"notes.txt"}, nil, nil},
		"no deeper":                      {[]string{"a/b/c.pickle"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			within := func(names []string) (paths []string) {
				for _, name := range names {
					paths = append(paths, filepath.Join(folder, name))
				}
				return paths
			}
			for _, path := range within(test.has) {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			files, folders, err := snapshots.Folder(folder)
			if err != nil || !slices.Equal(files, within(test.files)) || !slices.Equal(folders, within(test.folders)) {
				t.Errorf("%q, %q, %v", files, folders, err)
			}
		})
	}
	if files, folders, err := snapshots.Folder(filepath.Join(t.TempDir(), "missing")); files != nil || folders != nil || err != nil {
		t.Errorf("of a path that is no folder: %q, %q, %v", files, folders, err)
	}
}
