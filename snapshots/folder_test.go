package snapshots_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/snapshots"
)

func TestAFolderStandsForItsSnapshots(t *testing.T) {
	for name, test := range map[string]struct {
		has  []string
		want string // of each folder its name and its files
	}{
		"by number": {
			[]string{"rank10.pickle", "rank2.pickle", "rank02.pickle", "notes.txt", "a.mtr"},
			".: a.mtr rank02.pickle rank2.pickle rank10.pickle",
		},
		"iterations": {
			[]string{"iteration_9/rank0.pickle", "iteration_20/rank1.pickle.gz", "iteration_20/rank0.pickle.gz", "iteration_30/log"},
			"iteration_9: rank0.pickle, iteration_20: rank0.pickle.gz rank1.pickle.gz",
		},
		"answers":                        {[]string{"rank10.answer.json", "rank9.answer.json", "config.json"}, ".: rank9.answer.json rank10.answer.json"},
		"snapshots before answers":       {[]string{"rank0.answer.json", "rank0.pickle"}, ".: rank0.pickle"},
		"its own before those of others": {[]string{"a.pickle", "old/b.pickle"}, ".: a.pickle"},
		"none":                           {[]string{"notes.txt"}, ""},
		"no deeper":                      {[]string{"a/b/c.pickle"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, name := range test.has {
				path, content := filepath.Join(folder, name), "{}"
				if strings.HasSuffix(name, ".answer.json") {
					content = "{\n  \"schema\": \"memtop.report/1\", "
				}
				fatal.If(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600))
			}
			folders, err := snapshots.Folders(folder)
			fatal.If(t, err)
			var got []string
			for _, f := range folders {
				name, err := filepath.Rel(folder, f.Path)
				fatal.If(t, err)
				for i, path := range f.Files {
					f.Files[i] = filepath.Base(path)
				}
				got = append(got, name+": "+strings.Join(f.Files, " "))
			}
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if folders, err := snapshots.Folders(filepath.Join(t.TempDir(), "missing")); folders != nil || err != nil {
		t.Errorf("of a path that is no folder: %q, %v", folders, err)
	}
}
