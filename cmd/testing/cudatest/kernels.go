package cudatest

import (
	"fmt"

	"github.com/memtop/memtop/cmd/testing/hostbuild"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// Kernels runs launches on the host build of the kernels, for [Options].
func Kernels(l *hostbuild.Library) func(Launched) error {
	byName := make(map[string]kernels.Kernel, kernels.Count)
	for k := range kernels.Count {
		byName[k.String()] = k
	}
	return func(launched Launched) error {
		k, ok := byName[launched.Name]
		if !ok {
			return fmt.Errorf("cudatest: no kernel %q", launched.Name)
		}
		l.Enqueue(&kernels.Launch{Kernel: k, Grid: launched.Grid, Threads: launched.Block[0], Shared: launched.Shared, Args: launched.Args})
		return l.Err()
	}
}
