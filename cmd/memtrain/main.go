// Command memtrain trains a small model on the engine: the reference run of the
// project, and the process that memtop attaches to. All of it is in package
// program, which memtop demo runs as well; what this one adds are GPUs and
// other processes.
package main

import (
	"fmt"
	"os"

	"github.com/memtop/memtop/cmd/memtrain/program"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/collective/mpi"
	"github.com/memtop/memtop/engine/collective/nccl"
	"github.com/memtop/memtop/engine/collective/torchrun"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/snapshots/launcher"
)

func main() {
	os.Exit(program.Run(os.Args[1:], os.Stdout, os.Stderr, program.Reach{GPUs: gpu, Group: mpi.Open, GPUGroup: gpuGroup}))
}

func gpu(ordinal int) (program.Machine, error) {
	d, err := cuda.Open(cuda.Options{Ordinal: ordinal, Notice: func(line string) { fmt.Fprintln(os.Stderr, "memtrain:", line) }})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// gpuGroup joins processes by NCCL, which they begin by MPI or by torchrun's store.
func gpuGroup(m program.Machine, at launcher.Place, host collective.Group) (collective.Group, error) {
	o := nccl.Options{Device: m.(*cuda.Device), Rank: at.Rank, Size: at.World, Host: host}
	if host == nil {
		o.Share = func(id []byte) error { return torchrun.Share(at.Rank, id) }
	}
	return nccl.Open(o)
}
