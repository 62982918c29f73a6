package cmd_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// largest is how many bytes a file of the project has at most: what is larger was built.
const largest = 1 << 20

func TestNothingThatWasBuiltIsInTheProject(t *testing.T) {
	if _, err := os.Stat("../.git"); err != nil {
		t.Skip("this is no clone of the project")
	}
	listed, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("git does not list the project's files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(listed), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join("..", name)); err == nil && info.Size() > largest {
			t.Errorf("%s has %d bytes", name, info.Size())
		}
	}
}

// TestFilesOfProcAreReadWithinABound is about files whose length another process decides:
// package procfs bounds each read.
func TestFilesOfProcAreReadWithinABound(t *testing.T) {
	for _, product := range []string{"command", "memtop", "memtrain", "output", "../engine", "../probe", "../snapshots"} {
		err := fs.WalkDir(os.DirFS(product), ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			text, err := os.ReadFile(filepath.Join(product, name))
			code := string(text)
			if (strings.Contains(code, `"/proc`) || strings.Contains(code, "procfs.")) && (strings.Contains(code, "os.ReadFile(") || strings.Contains(code, "fs.ReadFile(")) {
				t.Errorf("%s/%s reads files of /proc, and some file without a bound", product, name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
