package weights

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// FormatError says that a file is damaged, or contains something other than plain
// weights.
type FormatError struct {
	Path, Reason string
}

// Error returns the path and the reason.
func (e *FormatError) Error() string { return e.Path + ": " + e.Reason }

// maxPickle bounds the pickle, which holds names and shapes: the numbers are in
// files of their own.
const maxPickle = 64 << 20

// open opens an archive. It looks before that, because opening a pipe would wait
// for a writer.
func open(file string) (z *zip.ReadCloser, size int64, err error) {
	info, err := os.Stat(file)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, 0, &FormatError{file, "not an ordinary file"}
	}
	if err == nil {
		z, err = zip.OpenReader(file)
	}
	switch {
	case errors.Is(err, zip.ErrFormat), errors.Is(err, zip.ErrChecksum), errors.Is(err, zip.ErrAlgorithm), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, 0, &FormatError{file, "not a .pt archive; PyTorch 1.6 and later write them"}
	case err != nil:
		return nil, 0, err
	}
	return z, info.Size(), nil
}

// read returns the dictionary of an archive. Its tensors have not read their
// numbers yet.
func read(z *zip.Reader) (value, error) {
	files, err := entries(z)
	if err != nil {
		return value{}, err
	}
	if files["constants.pkl"] != nil {
		return value{}, errors.New("a TorchScript program, not weights; save model.state_dict()")
	}
	if f := files["byteorder"]; f != nil {
		if order, err := content(f, 16); err != nil || string(order) != "little" {
			return value{}, fmt.Errorf("its numbers are %q-endian", order)
		}
	}
	f := files["data.pkl"]
	if f == nil {
		return value{}, errors.New("there is no data.pkl in the archive")
	}
	pickle, err := content(f, maxPickle)
	if err != nil {
		return value{}, err
	}
	numbers := make(map[string]*zip.File)
	for name, f := range files {
		if path.Base(path.Dir(f.Name)) == "data" {
			numbers[name] = f
		}
	}
	return unpickle(pickle, numbers)
}

// entries lists the files of the archive by the last part of their names, which
// is how they are found later, and refuses what could be mistaken or grow.
func entries(z *zip.Reader) (map[string]*zip.File, error) {
	files := make(map[string]*zip.File, len(z.File))
	for _, f := range z.File {
		name := f.Name[strings.LastIndexByte(f.Name, '/')+1:]
		switch {
		case files[name] != nil:
			return nil, fmt.Errorf("two files of the archive are called %q", name)
		case f.Method != zip.Store || f.CompressedSize64 != f.UncompressedSize64:
			return nil, fmt.Errorf("%q is compressed, which PyTorch never does", f.Name)
		}
		files[name] = f
	}
	return files, nil
}

func content(f *zip.File, limit uint64) ([]byte, error) {
	if f.UncompressedSize64 > limit {
		return nil, fmt.Errorf("%q is larger than %d bytes", f.Name, limit)
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%q: %w", f.Name, err)
	}
	defer r.Close() //nolint:errcheck // only read
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", f.Name, err)
	}
	return b, nil
}
