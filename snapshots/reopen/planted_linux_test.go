package reopen

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestWhatSomebodyElseMayHavePlantedIsIgnored(t *testing.T) {
	for name, plant := range map[string]func(c *Cache, entry string) error{
		"a folder that others may write to":  func(c *Cache, _ string) error { return os.Chmod(c.Folder, 0o770) },
		"a folder that others may read":      func(c *Cache, _ string) error { return os.Chmod(c.Folder, 0o705) },
		"an entry that others may write to":  func(_ *Cache, entry string) error { return os.Chmod(entry, 0o602) },
		"a folder of another user":           func(c *Cache, _ string) error { return os.Chown(c.Folder, 1234, 1234) },
		"an entry of another user":           func(_ *Cache, entry string) error { return os.Chown(entry, 1234, 1234) },
		"a link in the place of the folder":  func(c *Cache, _ string) error { return behindLink(c.Folder) },
		"a link in the place of the entry":   func(_ *Cache, entry string) error { return behindLink(entry) },
		"a link that leads out of it":        func(_ *Cache, entry string) error { return leadOut(entry) },
		"a named pipe":                       func(_ *Cache, entry string) error { return errors.Join(os.Remove(entry), syscall.Mkfifo(entry, 0o600)) },
		"a folder in the place of the entry": func(_ *Cache, entry string) error { return errors.Join(os.Remove(entry), os.Mkdir(entry, 0o700)) },
		"a file in the place of the folder": func(c *Cache, _ string) error {
			return errors.Join(os.RemoveAll(c.Folder), os.WriteFile(c.Folder, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, path := newCache(t), sample(t)
			keep(t, c, path)
			reopened(t, c, path)
			if err := plant(c, entry(t, c)); errors.Is(err, os.ErrPermission) {
				t.Skip("only root gives files away")
			} else if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Open(t.Context(), path, nil); err == nil || errors.Is(err, ErrNone) {
				t.Errorf("opening gives %v", err)
			}
		})
	}
}

func behindLink(path string) error {
	return errors.Join(os.Rename(path, path+".real"), os.Symlink(filepath.Base(path)+".real", path))
}

func leadOut(path string) error {
	out := filepath.Join(filepath.Dir(filepath.Dir(path)), "out")
	return errors.Join(os.Rename(path, out), os.Symlink(out, path))
}
