package python

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/probe/protocol"
)

func TestEveryFileOfTheAgentIsUnpacked(t *testing.T) {
	agent := unpack(t, ownFolder(t))
	count := 0
	for _, folder := range []string{"memtop", "run"} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".py" {
				return err
			}
			count++
			want, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if got, err := os.ReadFile(filepath.Join(agent, path)); err != nil || string(got) != string(want) {
				t.Errorf("%s is not unpacked as it is: %v", path, err)
			}
			return nil
		})
		fatal.If(t, err)
	}
	if count < 5 {
		t.Errorf("only %d files were looked at", count)
	}
}

func unpack(t *testing.T, folder string) string {
	t.Helper()
	root, err := Open("/", folder)
	fatal.If(t, err)
	defer func() { _ = root.Close() }()
	agent, err := Unpack(root)
	fatal.If(t, err)
	return filepath.Join(folder, agent)
}

// ownFolder returns a folder that is closed to others.
func ownFolder(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "own")
}

// TestAChangedAgentIsReplaced changes what was unpacked: the next use must find it
// as it should be, and nothing else beside it.
func TestAChangedAgentIsReplaced(t *testing.T) {
	write := func(text string, path ...string) func(string) error {
		return func(agent string) error {
			return os.WriteFile(filepath.Join(append([]string{agent}, path...)...), []byte(text), 0o600)
		}
	}
	remove := func(agent string, path ...string) error {
		return os.RemoveAll(filepath.Join(append([]string{agent}, path...)...))
	}
	for name, change := range map[string]func(agent string) error{
		"a file has other text": write("import os; os.abort()", "memtop", "auto.py"),
		"one byte is another": func(agent string) error {
			path := filepath.Join(agent, "memtop", "auto.py")
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text[len(text)/2] ^= 1
			return os.WriteFile(path, text, 0o600)
		},
		"a file has text added":     write("\n", "run", noBytecode),
		"a module was planted":      write("", "run", "os.py"),
		"a file was planted":        func(agent string) error { return os.WriteFile(agent+"/x", nil, 0o600) },
		"a file is missing":         func(agent string) error { return remove(agent, "memtop", "start", "roles.py") },
		"all files are missing":     func(agent string) error { return remove(agent, "memtop") },
		"the agent is a file":       func(agent string) error { _ = remove(agent); return os.WriteFile(agent, nil, 0o600) },
		"compiled code was planted": plantBytecode,
		"a file is a link to one that is equal": func(agent string) error {
			path := filepath.Join(agent, "run", "sitecustomize.py")
			if err := os.Rename(path, agent+"-other"); err != nil {
				return err
			}
			return os.Symlink("../../"+filepath.Base(agent)+"-other", path)
		},
		"the agent is a link to another folder": func(agent string) error {
			if err := os.Rename(agent, agent+"-other"); err != nil {
				return err
			}
			return os.Symlink(filepath.Base(agent)+"-other", agent)
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := ownFolder(t)
			agent := unpack(t, folder)
			fatal.If(t, change(agent))
			if got := unpack(t, folder); got != agent {
				t.Errorf("it is now at %s, was at %s", got, agent)
			}
			isWhole(t, agent)
			entries, err := os.ReadDir(folder)
			fatal.If(t, err)
			for _, entry := range entries {
				if name := entry.Name(); name != filepath.Base(agent) && !strings.HasSuffix(name, "-other") {
					t.Errorf("%s was left behind", name)
				}
			}
		})
	}
}

// plantBytecode puts a folder of compiled code where interpreters look for it.
func plantBytecode(agent string) error {
	cache := filepath.Join(agent, "run", noBytecode)
	if err := os.Remove(cache); err != nil {
		return err
	}
	if err := os.Mkdir(cache, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(cache, "sitecustomize.cpython-313.pyc"), nil, 0o600)
}

// isWhole reports files that are not the agent's, without what Unpack compares with.
func isWhole(t *testing.T, agent string) {
	t.Helper()
	want := contents()
	err := filepath.WalkDir(agent, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		inside, err := filepath.Rel(agent, path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(path)
		if text, known := want[filepath.ToSlash(inside)]; !known || string(got) != string(text) || !entry.Type().IsRegular() {
			t.Errorf("%s is not the agent's", inside)
		}
		delete(want, filepath.ToSlash(inside))
		return err
	})
	fatal.If(t, err)
	for name := range want {
		t.Errorf("%s is missing", name)
	}
}

func TestAnUnchangedAgentIsLeftAlone(t *testing.T) {
	folder := ownFolder(t)
	agent := unpack(t, folder)
	before, err := os.Stat(agent)
	fatal.If(t, err)
	unpack(t, folder)
	after, err := os.Stat(agent)
	fatal.If(t, err)
	if !os.SameFile(before, after) {
		t.Error("it was written again")
	}
}

func TestSeveralUnpackAtOnce(t *testing.T) {
	folder := ownFolder(t)
	root, err := Open("/", folder)
	fatal.If(t, err)
	defer func() { _ = root.Close() }()
	failed := make(chan error) // never closed
	const copies = 8
	for range copies {
		go func() {
			_, err := Unpack(root)
			failed <- err
		}()
	}
	for range copies {
		fatal.If(t, <-failed)
	}
	isWhole(t, filepath.Join(folder, Name()))
}

func TestAFolderThatOthersCouldHaveFilledIsRefused(t *testing.T) {
	for name, prepare := range map[string]func(path string) error{
		"others may write": func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o777)) },
		"others may look":  func(path string) error { return errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, 0o750)) },
		"it is a file":     func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"there is no way":  func(path string) error { return os.Symlink("nowhere/at/all", path) },
		"it is a link to one's own": func(path string) error {
			return errors.Join(os.Mkdir(path+"-other", 0o700), os.Symlink(path+"-other", path))
		},
		"it is another user's": func(path string) error {
			if os.Geteuid() != 0 {
				return os.Symlink("/", path)
			}
			return errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 12345, 12345))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := ownFolder(t)
			fatal.If(t, prepare(path))
			if root, err := Open("/", path); err == nil {
				_ = root.Close()
				t.Error("it was taken")
			}
		})
	}
}

// TestNoFolderIsReachedThroughALink has a link in the place of a folder on the way: nothing
// is made where it leads.
func TestNoFolderIsReachedThroughALink(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux are there folders of others to make")
	}
	above, err := filepath.EvalSymlinks(t.TempDir())
	fatal.If(t, err)
	link := filepath.Join(t.TempDir(), "link")
	fatal.If(t, os.Symlink(above, link))
	var refused *protocol.FolderError
	if _, err := Open("/", filepath.Join(link, "own")); !errors.As(err, &refused) || !strings.Contains(err.Error(), "leads through "+link) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(above); err != nil || len(entries) > 0 {
		t.Errorf("there is %v, %v", entries, err)
	}
}

// TestAFolderThatCannotBeFilledSaysWhy has a file in the place of the agent's folder that
// cannot be made to go: what is said is that, and not that the agent is another.
func TestAFolderThatCannotBeFilledSaysWhy(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write into every folder")
	}
	path := t.TempDir()
	root, err := os.OpenRoot(path)
	fatal.If(t, err)
	t.Cleanup(func() { _ = root.Close() })
	fatal.If(t, os.Chmod(path, 0o500))
	if _, err := Unpack(root); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}
