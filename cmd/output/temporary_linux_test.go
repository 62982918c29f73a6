package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
)

// dead returns the pid of a process that has ended.
func dead(t *testing.T) int {
	t.Helper()
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Skip("no process to be had: ", err)
	}
	return c.Process.Pid
}

func TestAnUnfinishedFileHasNoName(t *testing.T) {
	folder := t.TempDir()
	if f, err := unnamed(folder, 0o600); err != nil {
		t.Skip("no file without a name to be had: ", err)
	} else if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(folder, "out"), "old", 0o600)
	err := File{Path: filepath.Join(folder, "out"), Overwrite: true}.Write(func(w io.Writer) error {
		defer holds(t, folder, map[string]string{"out": "old"})
		return saying(strings.Repeat("new", 1<<20))(w)
	})
	fatal.If(t, err)
}

func TestOnlyUnfinishedFilesOfDeadProcessesAreRemoved(t *testing.T) {
	self, gone := os.Getpid(), dead(t)
	mine := startOf(self)
	if mine == 0 {
		t.Fatal("this process has no start")
	}
	tests := map[string]struct {
		name  string
		stays bool
	}{
		"of a dead process":                      {fmt.Sprintf(".out.memtop-%d-12-1", gone), false},
		"of a process that had this one's pid":   {fmt.Sprintf(".out.memtop-%d-%d-1", self, mine-1), false},
		"of this process":                        {fmt.Sprintf(".out.memtop-%d-%d-99", self, mine), true},
		"of another place":                       {fmt.Sprintf(".out2.memtop-%d-12-1", gone), true},
		"a name that only begins so":             {fmt.Sprintf(".out.memtop-%d-12-1.bak", gone), true},
		"a name with another number":             {fmt.Sprintf(".out.memtop-%d-012-1", gone), true},
		"a name without a process":               {".out.memtop-1", true},
		"a name with a process that cannot be":   {".out.memtop--5-12-1", true},
		"a user's file beside it":                {"out.memtop-5-12-1", true},
		"an unfinished file of earlier programs": {"out.123.tmp", true},
	}
	inEveryWay(t, func(t *testing.T, folder string) {
		t.Helper()
		want := map[string]string{"out": "new"}
		for _, test := range tests {
			put(t, filepath.Join(folder, test.name), "x", 0o600)
			if test.stays {
				want[test.name] = "x"
			}
		}
		fatal.If(t, (File{Path: filepath.Join(folder, "out"), Overwrite: true}).Write(saying("new")))
		holds(t, folder, want)
	})
}

func TestAnUnfinishedFileThatIsLockedStays(t *testing.T) {
	folder := t.TempDir()
	name := fmt.Sprintf(".out.memtop-%d-12-1", dead(t)) // as of a process in another container
	put(t, filepath.Join(folder, name), "x", 0o600)
	f, err := os.Open(filepath.Join(folder, name))
	fatal.If(t, err)
	defer f.Close()
	if !lock(f) {
		t.Fatal("the lock is taken")
	}
	to := File{Path: filepath.Join(folder, "out"), Overwrite: true}
	fatal.If(t, to.Write(saying("new")))
	holds(t, folder, map[string]string{"out": "new", name: "x"})
}

func TestAnUnfinishedFileThatIsALinkOrAFolderStays(t *testing.T) {
	folder := t.TempDir()
	pid := dead(t)
	precious := filepath.Join(t.TempDir(), "precious")
	put(t, precious, "x", 0o600)
	link, inner := fmt.Sprintf(".out.memtop-%d-12-1", pid), filepath.Join(folder, fmt.Sprintf(".out.memtop-%d-12-2", pid))
	fatal.If(t, os.Symlink(precious, filepath.Join(folder, link)))
	fatal.If(t, os.Mkdir(inner, 0o755))
	fatal.If(t, (File{Path: filepath.Join(folder, "out")}).Write(saying("new")))
	for _, path := range []string{filepath.Join(folder, link), inner, precious} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestErrorsNameTheUsersFile(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "file"), "", 0o644)
	tests := map[string]struct {
		path   string
		reason error
	}{
		"a folder that is not there": {filepath.Join(folder, "no", "out"), fs.ErrNotExist},
		"a file as a folder":         {filepath.Join(folder, "file", "out"), syscall.ENOTDIR},
		"a folder":                   {folder, syscall.EISDIR},
		"a folder that is read only": {"/proc/self/out", fs.ErrNotExist},
		"a full device":              {"/dev/full", syscall.ENOSPC},
		"a name that is too long":    {filepath.Join(folder, strings.Repeat("x", 300)), syscall.ENAMETOOLONG},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := File{Path: test.path, Overwrite: true}.Write(saying(strings.Repeat("x", 2<<20)))
			var path *fs.PathError
			if !errors.Is(err, test.reason) || !errors.As(err, &path) || path.Path != test.path || strings.Contains(err.Error(), "memtop-") {
				t.Errorf("got error %v, want one of %s: %v", err, test.path, test.reason)
			}
		})
	}
	holds(t, folder, map[string]string{"file": ""})
}
