package program

import (
	"fmt"

	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/snapshots/hostmemory"
)

// maxWorkers is how many threads may prepare batches, and how many batches each.
const maxWorkers = 1 << 10

// checkLoader refuses flags of the loader that make no sense.
func (o *options) checkLoader() error {
	for _, f := range []struct {
		name  string
		value int
	}{{"workers", o.workers}, {"prefetch", o.prefetch}} {
		if f.value < 1 || f.value > maxWorkers {
			return usagef("--%s %d: want a number from 1 to %d", f.name, f.value, maxWorkers)
		}
	}
	return nil
}

// loading returns the options for making batches.
func (s *session) loading() data.LoaderOptions {
	return data.LoaderOptions{Batch: s.share(), Part: s.rank(), Parts: s.world(), Seed: s.seed, Workers: s.workers, Prefetch: s.prefetch}
}

func (s *session) batchBytes() int64 {
	spec := s.set.Spec()
	return int64(s.share()) * int64(spec.Input.Bytes()+spec.Target.Bytes())
}

// checkStaging refuses more ready batches than the host has memory for.
func (s *session) checkStaging() error {
	staged := s.loading().Staged()
	if n, room := s.batchBytes()*int64(staged), hostmemory.Available(); n > room.Bytes {
		return machineError{
			fmt.Sprintf("%d batches that are prepared are %s, and %s has %s", staged, sizeText(n), room.Of, sizeText(room.Bytes)),
			"give less with --workers or --prefetch",
		}
	}
	return nil
}

// openLoader begins to prepare batches from number start on.
func (s *session) openLoader(start int64) error {
	o := s.loading()
	o.Start = start
	loader, err := data.NewLoader(s.set, o)
	if err != nil {
		return err
	}
	s.loader = loader
	s.onClose(s.loader.Close)
	return nil
}
