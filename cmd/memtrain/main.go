// Command memtrain trains a small model on the engine: the reference run of the
// project, and the process that memtop attaches to. All of it is in package
// program, which memtop demo runs as well; what this one adds are GPUs and
// other processes.
package main

import (
	"fmt"
	"os"

	"memtop/cmd/memtrain/program"
	"memtop/engine/collective/mpi"
	"memtop/engine/device/cuda"
)

func main() {
	cuda.Trials()
	os.Exit(program.Run(os.Args[1:], os.Stdout, os.Stderr, program.Reach{GPUs: gpu, Group: mpi.Open}))
}

func gpu(ordinal int) (program.Machine, error) {
	d, err := cuda.Open(cuda.Options{Ordinal: ordinal, Notice: func(line string) { fmt.Fprintln(os.Stderr, "memtrain:", line) }})
	if err != nil {
		return nil, err
	}
	return d, nil
}
