package snapshots

import (
	"os"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// RankOf returns the rank at the begin of a recording, nil for any other file. It
// reports no errors: the reader of the whole file reports them.
func RankOf(path string) *trace.Rank {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil // a pipe can be read once only
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read from
	s := wire.NewStream(f, wire.StreamOptions{})
	if _, err := s.Advance(); err != nil || s.Hello() == nil || s.Hello().Rank == nil || !s.Hello().Rank.Valid() {
		return nil
	}
	return s.Hello().Rank.Printable()
}
