package data

import (
	"errors"
	"io"
	"os"

	"github.com/memtop/memtop/engine/choice"
)

// Access is the way in which a program reads the tokens of a file.
type Access uint8

// The ways.
const (
	Mapped Access = iota // as memory, which the system fills when it is read and takes back when it has to
	Lazy                 // a sample at a time, when it is due: nothing of the file is kept
	Loaded               // all of it before the first sample
)

// Accesses returns every way.
func Accesses() []Access { return []Access{Mapped, Lazy, Loaded} }

// String returns "mapped", "lazy" or "loaded".
func (a Access) String() string {
	return [...]string{Mapped: "mapped", Lazy: "lazy", Loaded: "loaded"}[a]
}

// ParseAccess is the inverse of Access.String.
func ParseAccess(name string) (Access, error) {
	return choice.Parse("access", Accesses(), name)
}

// source is where tokens are. Its bytes may be read by several goroutines.
type source struct {
	// read returns n bytes from a place on, which are not to be changed. Those of
	// mapped memory fault when the file no longer has them.
	read  func(at int64, n int) ([]byte, error)
	close func() error
}

// open returns the bytes of a file, which the source closes.
func (a Access) open(f *os.File, size int64) (source, error) {
	if a == Lazy {
		return source{func(at int64, n int) ([]byte, error) { return readAt(f, at, n) }, f.Close}, nil
	}
	var raw []byte
	var err error
	unmap := func() error { return nil }
	if a == Loaded {
		raw, err = readAt(f, 0, int(size))
	} else {
		raw, unmap, err = mapFile(f, size)
	}
	if err != nil {
		return source{}, err
	}
	from := memory(raw)
	from.close = unmap
	return from, f.Close()
}

// memory is a source of bytes that are there.
func memory(raw []byte) source {
	return source{
		func(at int64, n int) ([]byte, error) { return raw[at : at+int64(n)], nil },
		func() error { return nil },
	}
}

func readAt(f *os.File, at int64, n int) ([]byte, error) {
	raw := make([]byte, n)
	if _, err := f.ReadAt(raw, at); errors.Is(err, io.EOF) {
		return nil, cutError(f.Name())
	} else if err != nil {
		return nil, err
	}
	return raw, nil
}

func cutError(path string) error {
	return &FormatError{path, "the file was cut while it was being read"}
}
