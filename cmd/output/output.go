// Package output writes the files that a user asks memtop's programs for. It
// writes a file completely or not at all, and never replaces a file that must
// stay. The caller decides their content.
package output

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// # How a file is written
//
// A path that is a link means its target, which need not exist yet. The path is
// resolved once: another process may exchange it for a link at any time, and no
// later step follows one. The package writes directly to everything that is no
// ordinary file, such as /dev/null or a named pipe, if that is what it opened.
//
// The package writes an ordinary file in its folder without a name, flushes it
// and the folder to the disk, and then gives it its name in one step: until the
// new file is complete, that name has the old file, or none. A killed program
// leaves nothing, because the system drops files without a name. Replacing an
// existing file needs a temporary name between two calls; on a file system
// without nameless files, the file has the temporary name all the time. The next
// write to the same path removes temporary names of dead processes: see
// temporary.go.

// File is the destination of an output.
type File struct {
	// Path is the file's name, also in errors.
	Path string
	// Overwrite lets an ordinary file be replaced; its permissions are kept.
	// Without it such a file is refused with an error that is [fs.ErrExist], also
	// when it appears only while the output is being written.
	Overwrite bool
	// Inputs are the files being read. They are never replaced.
	Inputs []fs.FileInfo
}

// Inputs returns information about files that are being read; "-" is standard
// input. It leaves out missing files, which cannot be replaced.
func Inputs(paths ...string) []fs.FileInfo {
	var inputs []fs.FileInfo
	for _, path := range paths {
		look := func() (fs.FileInfo, error) { return os.Stat(path) }
		if path == "-" {
			look = os.Stdin.Stat
		}
		if info, err := look(); err == nil {
			inputs = append(inputs, info)
		}
	}
	return inputs
}

// InputError reports that the output would overwrite the input.
type InputError struct{ Path string }

// Error names the file.
func (e *InputError) Error() string { return e.Path + " is the file that is being read" }

// Check returns why the file could not be written now, or nil.
func (f File) Check() error {
	p, err := f.find()
	if err != nil || p.special {
		return err
	}
	t, err := p.begin()
	if err != nil {
		return refused(f.Path, err)
	}
	return refused(f.Path, t.end())
}

// Write writes the file with a function. It calls the function again if the file
// system lacks a feature that the first attempt needs.
func (f File) Write(write func(io.Writer) error) error {
	p, err := f.find()
	if err != nil {
		return err
	}
	if p.special {
		return p.writeTo(write)
	}
	sweep(p.path)
	t, err := p.begin()
	if err != nil {
		return refused(f.Path, err)
	}
	if err := t.finish(p, write); !errors.Is(err, errNoLink) {
		return err
	}
	if t, err = named(p); err != nil {
		return refused(f.Path, err)
	}
	return t.finish(p, write)
}

// Create opens the file itself, for output that is useful before it is complete.
// Until it is closed, this package lets no other process replace it.
func (f File) Create() (*os.File, error) {
	p, err := f.find()
	if err != nil {
		return nil, err
	}
	file, err := p.create()
	return file, refused(f.Path, err)
}

func (p place) create() (*os.File, error) {
	switch {
	case p.special:
		return p.open()
	case p.exists:
		return p.renew()
	}
	file, err := os.OpenFile(p.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, p.mode)
	if err != nil {
		return nil, err
	}
	if err := own(file, p.path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// renew replaces the file by an empty one.
func (p place) renew() (*os.File, error) {
	sweep(p.path)
	t, err := named(p)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.settle(p), t.move(p)); err != nil {
		return nil, errors.Join(err, t.end())
	}
	return t.file, nil
}

// place is a file as it was found.
type place struct {
	File
	path    string // with links followed
	mode    fs.FileMode
	exists  bool // as an ordinary file
	special bool // exists, but is no ordinary file
}

// find looks at the existing file, and refuses one that must not be overwritten.
func (f File) find() (place, error) {
	p := place{File: f, path: f.Path, mode: 0o666}
	info, err := os.Stat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, refused(f.Path, p.follow(nil))
	case err != nil:
		return p, refused(f.Path, err)
	case info.IsDir():
		return p, refused(f.Path, syscall.EISDIR)
	case !info.Mode().IsRegular():
		p.special = true
		return p, nil
	case slices.ContainsFunc(f.Inputs, func(input fs.FileInfo) bool { return os.SameFile(input, info) }):
		return p, &InputError{f.Path}
	case !f.Overwrite:
		return p, refused(f.Path, fs.ErrExist)
	}
	p.mode, p.exists = info.Mode().Perm(), true
	return p, refused(f.Path, p.follow(info))
}

// errChanged means that the path got another meaning after it was checked.
var errChanged = errors.New("the name was given to another file meanwhile")

// follow resolves the links of the path, which must lead to the file that was
// found, or to none. The system refuses to follow links of other users in a
// shared folder, but only to a caller who opens them; so there, this package
// follows none that leads to no file.
func (p *place) follow(found fs.FileInfo) error {
	for range 40 {
		target, err := os.Readlink(p.path)
		if err != nil {
			break // it is no link, or does not exist
		}
		folder := folderOf(p.path)
		if info, err := os.Stat(folder); found == nil && err == nil && info.Mode()&fs.ModeSticky != 0 {
			return fs.ErrPermission
		}
		if !filepath.IsAbs(target) {
			target = folder + target
		}
		p.path = target
	}
	now, err := os.Lstat(p.path)
	if os.SameFile(found, now) || found == nil && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errChanged
}

// folderOf returns all of a path before its last element. Unlike [filepath.Dir]
// it does not take x/.. away, where x may be a link.
func folderOf(path string) string {
	folder, _ := filepath.Split(path)
	if folder == "" {
		return "." + string(filepath.Separator)
	}
	return folder
}

// open opens what is no ordinary file.
func (p place) open() (*os.File, error) {
	file, err := os.OpenFile(p.path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || info.Mode().IsRegular() {
		return nil, errors.Join(errChanged, file.Close())
	}
	return file, nil
}

// writeTo writes to what is no ordinary file.
func (p place) writeTo(write func(io.Writer) error) error {
	file, err := p.open()
	if err != nil {
		return refused(p.Path, err)
	}
	return errors.Join(p.fill(file, write), file.Close())
}

// fill writes the contents to a file.
func (p place) fill(file *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(writer{file, p.Path}, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// writer writes to a file, and names the user's file in errors.
type writer struct {
	file *os.File
	path string
}

// Write writes to the file.
func (w writer) Write(b []byte) (int, error) {
	n, err := w.file.Write(b)
	return n, refused(w.path, err)
}

// refused returns the operating system's error, with the user's name of the file.
func refused(path string, err error) error {
	if err == nil {
		return nil
	}
	var (
		file *fs.PathError
		link *os.LinkError
		call *os.SyscallError
	)
	switch {
	case errors.As(err, &file):
		err = file.Err
	case errors.As(err, &link):
		err = link.Err
	case errors.As(err, &call):
		err = call.Err
	}
	return &fs.PathError{Op: "write", Path: path, Err: err}
}
