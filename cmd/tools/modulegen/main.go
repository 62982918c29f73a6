// Command modulegen makes the modules of the CUDA kernels. clang 19 compiles the
// sources to PTX, which needs no CUDA SDK, and NVIDIA's ptxas compiles the PTX to
// machine code. `go generate` of package kernels runs modulegen. Equal sources
// and compilers give equal bytes. modulegen does not change modules whose PTX has
// not changed.
//
// Each module is one compressed archive, so that its machine code always matches
// its PTX. MANIFEST has the hashes of all sources and results.
//
// ptxas must have the version that MANIFEST names. The Python package
// nvidia-cuda-nvcc-cu12, among others, contains it. Its machine code for 9.0 and
// before loads with every driver of CUDA 12.0 and later. Its machine code for
// 10.0 and 12.0 loads with drivers of CUDA 12.8 and later, which are the first
// for these GPUs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	out := flag.String("o", "modules", "the `directory` to write the archives and MANIFEST to")
	clang := flag.String("clang", "clang-19", "the `command` that compiles to PTX")
	ptxas := flag.String("ptxas", defaultAssembler(), "the `command` that compiles PTX, MEMTOP_PTXAS by default; empty leaves machine code out")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := generate(ctx, *clang, *ptxas, *out); err != nil {
		fmt.Fprintln(os.Stderr, "modulegen:", err)
		stop()
		os.Exit(1)
	}
}
