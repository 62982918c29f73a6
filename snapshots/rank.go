package snapshots

import (
	"io"
	"os"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// RankOf returns the rank at the begin of a recording, nil for any other file. It
// reports no errors: the reader of the whole file reports them.
func RankOf(path string) *trace.Rank {
	f, size := openRegular(path)
	if f == nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read from
	// Elsewhere than on Linux, all who open a descriptor share its place in the file.
	s := wire.NewStream(io.NewSectionReader(f, 0, size), wire.StreamOptions{})
	if _, err := s.Advance(); err != nil || s.Hello() == nil || s.Hello().Rank == nil || !s.Hello().Rank.Valid() {
		return nil
	}
	return s.Hello().Rank.Printable()
}

// openRegular opens a file to look at its begin, and returns its size. It returns nil for
// what is no file: a pipe can be read once only.
func openRegular(path string) (*os.File, int64) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0
	}
	return f, info.Size()
}
