// Package output writes the files that a user asks memtop's programs for. It
// writes a file completely or not at all, and never replaces a file that must
// stay. What is in them is their writer's own.
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
// A path that is a link means the file that it leads to, which need not be there
// yet. What is no ordinary file, such as /dev/null or a named pipe, is written to
// as it is.
//
// An ordinary file is written beside its place without a name of its own, flushed
// to the disk with its folder, and then given its name in one step: under that
// name there is the old file, or none, until the new one is complete. A program
// that is killed leaves nothing, because the system drops what has no name. To
// replace an existing file takes a name for the moment between two calls; where
// there are no files without a name, the file has that name all the time. Whoever
// writes to the same place next removes such names of processes that are dead:
// see temporary.go.

// File is the destination of an output.
type File struct {
	// Path is the file's name. Errors call it by this name.
	Path string
	// Overwrite lets an ordinary file be replaced; its permissions are kept.
	// Without it such a file is refused with an error that is [fs.ErrExist], also
	// when it appears only while the output is being written.
	Overwrite bool
	// Inputs are what is being read, which is never replaced.
	Inputs []fs.FileInfo
}

// Inputs returns what is known of files that are read; standard input, if it is
// one, is "-". Those that are not there cannot be replaced either.
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

// Write writes the file by a function, which is called again should the file
// system turn out to lack what the first attempt needs.
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

// Create opens the file itself for output that is of use before it is complete.
func (f File) Create() (*os.File, error) {
	p, err := f.find()
	if err != nil {
		return nil, err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if p.special || p.Overwrite {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(p.path, flags, p.mode)
	if err != nil {
		return nil, refused(f.Path, err)
	}
	return file, nil
}

// place is a file as it was found.
type place struct {
	File
	path    string // with links followed
	mode    fs.FileMode
	exists  bool // as an ordinary file
	special bool // it is there, and no ordinary file
}

// find looks at what is there, and refuses what must not be written over.
func (f File) find() (place, error) {
	p := place{File: f, path: f.Path, mode: 0o666}
	info, err := os.Stat(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.path = follow(f.Path)
		return p, nil
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
	p.path, p.mode, p.exists = follow(f.Path), info.Mode().Perm(), true
	return p, nil
}

// follow returns what a link leads to. Stat has been there before, so the system
// has refused links that others have laid, and those without an end.
func follow(path string) string {
	for range 40 {
		target, err := os.Readlink(path)
		if err != nil {
			break // it is no link, or not there
		}
		if !filepath.IsAbs(target) {
			target = folderOf(path) + target
		}
		path = target
	}
	return path
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

// writeTo writes to what is there already.
func (p place) writeTo(write func(io.Writer) error) error {
	file, err := os.OpenFile(p.path, os.O_WRONLY, 0)
	if err != nil {
		return refused(p.Path, err)
	}
	return errors.Join(p.fill(file, write), file.Close())
}

// fill has the contents written to a file.
func (p place) fill(file *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(writer{file, p.Path}, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// writer writes to a file whose errors are the user's file's.
type writer struct {
	file *os.File
	path string
}

// Write writes to the file.
func (w writer) Write(b []byte) (int, error) {
	n, err := w.file.Write(b)
	return n, refused(w.path, err)
}

// refused returns what the operating system said, of the file as the user knows
// it.
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
