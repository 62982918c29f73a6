package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// replace writes a file beside path and then puts it in its place, so that
// nobody ever sees half of it. A path that is a link is followed; one that is
// no file, such as /dev/null or a named pipe, is written to as it is.
func replace(path string, write func(io.Writer) error) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return &fs.PathError{Op: "write", Path: path, Err: syscall.EISDIR}
	case err == nil && !info.Mode().IsRegular():
		return overwrite(path, write)
	case err == nil:
		return putInPlace(path, info.Mode().Perm(), write)
	default:
		return putInPlace(path, 0o644, write)
	}
}

// overwrite writes to what is there already.
func overwrite(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(buffered(f, write), f.Close())
}

func putInPlace(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".memtop-*")
	if err != nil {
		return &fs.PathError{Op: "create", Path: path, Err: reason(err)} // nobody knows the other name
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = errors.Join(buffered(f, write), f.Chmod(mode), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// reason returns what the operating system said, without the path.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func buffered(f *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(write(w), w.Flush())
}

// while returns a writer that refuses once ctx is cancelled, so that a long
// export ends and its unfinished file goes.
func while(ctx context.Context, w io.Writer) io.Writer { return cancellable{ctx, w} }

type cancellable struct {
	ctx context.Context
	w   io.Writer
}

func (c cancellable) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}
