package cudatest

import (
	"fmt"

	"memtop/engine/device/cuda/kernels"
	"memtop/engine/device/cuda/kernels/hostbuild"
)

// Kernels runs launches on the host build of the kernels, for [Options].
func Kernels(l *hostbuild.Library) func(Launch) error {
	byName := make(map[string]kernels.Kernel, kernels.Count)
	for k := range kernels.Count {
		byName[k.String()] = k
	}
	return func(launch Launch) error {
		k, ok := byName[launch.Name]
		if !ok {
			return fmt.Errorf("cudatest: no kernel %q", launch.Name)
		}
		l.Launch(&kernels.Launch{Kernel: k, Grid: launch.Grid, Threads: launch.Block[0], Shared: launch.Shared, Args: launch.Args})
		return l.Err()
	}
}
