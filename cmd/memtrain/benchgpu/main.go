// Command benchgpu is the checklist of a machine with an NVIDIA GPU, and `make
// gpu` runs it: every kernel against the CPU backend, the allocator over the
// real driver, GPT-2 124M beside PyTorch on the same GPU, products beside
// cuBLASLt, what a launch costs, and memtop's sum beside what NVML says. It
// prints tables for docs/performance.md.
//
// What it needs and does not find it names: without a GPU it measures nothing
// and fails; without PyTorch the columns beside ours stay empty.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"memtop/engine/device/cuda"
)

func main() {
	var c checklist
	flag.StringVar(&c.bin, "bin", "bin", "directory of memtop and memtrain")
	flag.StringVar(&c.python, "python", "python3", "Python with PyTorch, for the comparison")
	flag.IntVar(&c.batch, "batch", 16, "samples of 1,024 tokens in a step")
	flag.IntVar(&c.steps, "steps", 20, "steps to time")
	flag.Parse()
	if err := c.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "benchgpu:", err)
		os.Exit(1)
	}
}

// checklist is what a run measures and with what.
type checklist struct {
	bin, python  string
	batch, steps int
}

func (c *checklist) run(ctx context.Context) error {
	devices, err := cuda.Devices(nil)
	if err != nil {
		return fmt.Errorf("nothing is measured: %w", err)
	}
	for _, d := range devices {
		fmt.Printf("cuda:%d is %s, %d MiB, compute capability %d.%d, driver of CUDA %d.%d\n",
			d.Ordinal, d.Name, d.Memory>>20, d.Major, d.Minor, d.Version/1000, d.Version%1000/10)
	}
	fmt.Printf("measured on %s\n", time.Now().Format(time.DateOnly))
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"kernels, queue and memory on the GPU", conformance},
		{"products and launches", c.products},
		{"training steps", c.training},
		{"memory as memtop and NVML see it", c.waterfall},
	} {
		fmt.Printf("\n## %s\n\n", part.name)
		if err := part.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// conformance runs the tests of the device on the GPU instead of the host build.
func conformance(ctx context.Context) error {
	test := exec.CommandContext(ctx, "go", "test", "-count=1", "./engine/device/cuda/...")
	test.Env = append(os.Environ(), "MEMTOP_GPU=1")
	test.Stdout, test.Stderr = os.Stdout, os.Stderr
	return test.Run()
}
