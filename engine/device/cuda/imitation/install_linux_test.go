package imitation_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
)

func TestSeveralInstallAtOnce(t *testing.T) {
	library := installable(t)
	folder := filepath.Join(t.TempDir(), "library")
	var installing sync.WaitGroup
	files := make([]os.FileInfo, 8)
	for i := range files {
		installing.Go(func() {
			err := imitation.Install(folder)
			file, stat := os.Stat(filepath.Join(folder, "libcuda.so.1"))
			if files[i] = file; err != nil || stat != nil {
				t.Error(err, stat)
			}
		})
	}
	installing.Wait()
	checkInstalled(t, folder, library)
	for i, file := range files {
		if !os.SameFile(file, files[0]) {
			t.Errorf("installation %d replaced the library, which a program may have loaded", i)
		}
	}
}

func TestWhatElseHasTheNamesIsReplaced(t *testing.T) {
	library := installable(t)
	folder, other := t.TempDir(), filepath.Join(t.TempDir(), "other")
	for _, path := range []string{other, filepath.Join(folder, "libcuda.so.1")} {
		fatal.If(t, os.WriteFile(path, []byte("another"), 0o600))
	}
	fatal.If(t, os.Symlink(other, filepath.Join(folder, "libmemtop-imitation.so")))
	fatal.If(t, os.Chmod(folder, 0o700))
	fatal.If(t, imitation.Install(folder))
	checkInstalled(t, folder, library)
	if text, err := os.ReadFile(other); err != nil || string(text) != "another" {
		t.Errorf("what a link pointed to was changed: %q, %v", text, err)
	}
}

func checkInstalled(t *testing.T, folder string, library []byte) {
	t.Helper()
	var names []string
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	for _, name := range []string{"libcuda.so", "libcuda.so.1", "libmemtop-imitation.so", "libnvidia-ml.so.1"} {
		if err != nil || !slices.Contains(names, name) {
			t.Errorf("there is no %s among %q: %v", name, names, err)
		}
	}
	for _, name := range names {
		if strings.Contains(name, "-new-") {
			t.Errorf("%s was left behind", name)
		}
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !bytes.Equal(got, library) {
			t.Errorf("%s is not the library: %v", name, err)
		}
	}
	checkMode(t, folder, 0o700)
	checkMode(t, filepath.Join(folder, "libmemtop-imitation.so"), 0o500)
}

func checkMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != want || info.Mode()&os.ModeSymlink != 0 {
		t.Errorf("%s: %v, %v", path, info, err)
	}
}

func TestFoldersThatPreloadingCannotUse(t *testing.T) {
	installable(t)
	open := t.TempDir()
	fatal.If(t, os.Chmod(open, 0o755)) //nolint:gosec // it is what is refused
	for folder, reason := range map[string]string{
		open:                               "is not closed to others",
		"relative":                         "must be absolute",
		filepath.Join(t.TempDir(), "a b"):  "without spaces",
		filepath.Join(t.TempDir(), "a:b"):  "colons",
		filepath.Join(t.TempDir(), "$LIB"): "dollar signs",
		filepath.Join(t.TempDir(), "a/b"):  "no such file",
	} {
		if err := imitation.Install(folder); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", folder, err)
		}
	}
	if _, err := os.Lstat("relative"); err == nil {
		t.Error("a folder was made where none may be")
	}
}

func TestAFolderOfAnotherUser(t *testing.T) {
	installable(t)
	folder := t.TempDir()
	if err := errors.Join(os.Chmod(folder, 0o700), os.Chown(folder, 1, -1)); err != nil { //nolint:gosec // a folder has to be searched
		t.Skip("not root: ", err)
	}
	if err := imitation.Install(folder); err == nil || !strings.Contains(err.Error(), "it is user 1's") {
		t.Error(err)
	}
}

func TestAFolderThatNothingIsLoadedFrom(t *testing.T) {
	installable(t)
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || !regexp.MustCompile(`(?m)^\S+ /proc proc \S*\bnoexec\b`).Match(mounts) {
		t.Skip("/proc is not mounted noexec: ", err)
	}
	if err := imitation.Install("/proc"); err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Error(err)
	}
}
