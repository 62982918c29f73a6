package cmd_test

import (
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
