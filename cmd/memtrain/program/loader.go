package program

import (
	"fmt"

	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/engine/train"
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

// staged returns how many batches wait in memory of the device's host.
func (s *session) staged() int {
	if !s.pinned {
		return 0
	}
	return s.loading().Staged()
}

// openLoader begins to prepare batches from number start on.
func (s *session) openLoader(start int64) error {
	o := s.loading()
	o.Start = start
	if s.pinned {
		s.staging = train.NewStaging(s.device)
		s.onClose(s.staging.Close)
		o.Memory = s.staging.Memory
	}
	var err error
	if failed := tensor.Try(func() { s.loader, err = data.NewLoader(s.set, o) }); failed != nil {
		return machineError{"staging batches in the host's memory: " + failed.Error(), "leave --pinned out"}
	}
	if err != nil {
		return err
	}
	s.onClose(s.loader.Close)
	return nil
}

// stagingText says where batches wait if --pinned is given.
func (s *session) stagingText() string {
	text := fmt.Sprintf("%d batches, %s, ", s.staged(), sizeText(s.batchBytes()*int64(s.staged())))
	if _, isCPU := s.machine.(*cpu.Device); isCPU {
		return text + "in the host's memory; nothing is pinned, since the processor itself copies to cpu:0"
	}
	return text + "pinned in the host's memory"
}
