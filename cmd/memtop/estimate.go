package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/memtrain/program"
)

func (a *app) estimateCommand() *cobra.Command {
	var e program.Estimate
	cmd := &cobra.Command{
		Use:   "estimate --model MODEL",
		Short: "Print the memory that a training run would need, without running it",
		Long: `Print how much memory each rank of a training run would need, what for, and on which
devices it fits: as given, and with techniques that need less. The flags are those of
memtrain.

The result comes from no formula. The code that trains runs two steps on a device that
computes nothing, with an allocator that has PyTorch's rules. A run fits on a device
if the allocator can serve it with what these sizes leave after ` + program.OutsideAllocator() + ` that CUDA itself takes:
  ` + strings.Join(program.DeviceSizes(), "\n  "),
		Example: `  memtop estimate --model gpt2-xl --batch 8 --amp bf16
  memtop estimate --model gpt --layers 32 --dim 4096 --heads 32 --seq 2048 --vocab 50257 --json`,
		Args: files(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.estimate(cmd.Context(), &e) },
	}
	e.Register(cmd.Flags())
	a.settings.jsonFlag(cmd.Flags())
	return cmd
}

// estimate prints the memory that a run would need.
func (c *console) estimate(ctx context.Context, e *program.Estimate) error {
	r, err := e.Run(ctx)
	if err != nil {
		return fmt.Errorf("estimating: %w", err)
	}
	if c.settings.json {
		return c.printJSON(r)
	}
	return r.Text(c.stdout)
}
