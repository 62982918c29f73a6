package prebuilt

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Install puts the library for this machine into a folder, and links to it under
// other names. It makes the folder if it does not exist. The folder must belong to
// this user and be closed to others. Several processes may install into the same
// folder at once: programs find the whole library there, or none.
//
// A library that is there already stays the same file. The loader knows libraries by
// their files: a program that loaded this one, and later looks for it under another
// name, would get a second one from a new file, which has none of the first one's memory.
func (l Library) Install(folder string, links ...string) error {
	library, err := l.For(runtime.GOARCH)
	if err != nil {
		return err
	}
	root, err := closedFolder(folder)
	if err != nil {
		return err
	}
	defer root.Close() // what was written in it is closed already
	err = put(root, l.Name,
		func(fresh string) error { return root.WriteFile(fresh, library, 0o500) },
		func() bool { there, err := root.ReadFile(l.Name); return err == nil && bytes.Equal(there, library) })
	for _, link := range links {
		err = errors.Join(err, put(root, link,
			func(fresh string) error { return root.Symlink(l.Name, fresh) },
			func() bool { there, err := root.Readlink(link); return err == nil && there == l.Name }))
	}
	return err
}

// closedFolder makes the folder if needed. It checks that programs can load
// libraries from it, and that no other user can change them.
func closedFolder(folder string) (*os.Root, error) {
	if !filepath.IsAbs(folder) || strings.ContainsAny(folder, " :;$\n") {
		return nil, fmt.Errorf("libraries cannot be loaded from %q: the path must be absolute, without spaces, colons, semicolons and dollar signs: set TMPDIR to another folder", folder)
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	if err = errors.Join(checkClosed(root), checkExecutable(folder)); err != nil {
		_ = root.Close() // nothing in it was used
		return nil, err
	}
	return root, nil
}

func checkClosed(root *os.Root) error {
	info, err := root.Stat(".")
	if err != nil {
		return err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not closed to others: it is user %d's, with mode %v", root.Name(), owner, info.Mode())
	}
	return nil
}

// checkExecutable checks that the folder allows execution. If it does not, the
// loader only warns, and a program would run without the GPU.
func checkExecutable(folder string) error {
	const noexec = 8 // ST_NOEXEC
	var system syscall.Statfs_t
	if err := syscall.Statfs(folder, &system); err != nil {
		return fmt.Errorf("asking for the file system of %s: %w", folder, err)
	}
	if system.Flags&noexec != 0 {
		return fmt.Errorf("libraries cannot be loaded from %s: its file system is mounted noexec, set TMPDIR to a folder on another", folder)
	}
	return nil
}

// put makes a file under a name that no other process uses, and gives it its own name,
// unless what has that name is there already.
func put(root *os.Root, name string, write func(fresh string) error, there func() bool) error {
	fresh := name + "-new-" + rand.Text()
	defer root.Remove(fresh) // it is not there if it was moved
	if err := write(fresh); err != nil {
		return err
	}
	if root.Link(fresh, name) == nil || there() { // of several, the first
		return nil
	}
	return root.Rename(fresh, name)
}
