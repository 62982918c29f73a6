package snapshots

import (
	"os"

	"github.com/memtop/memtop/snapshots/trace"
	"github.com/memtop/memtop/snapshots/wire"
)

// RankOf returns the rank that a recording begins with, nil for another file. What is
// wrong with a file is for its reader to say.
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
