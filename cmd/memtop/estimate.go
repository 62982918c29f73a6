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
		Short: "Print the memory that a training run would need, without a run or a GPU",
		Long: `Print what each rank of a training run would need and for what, and on which
devices it fits: as asked, and with techniques that need less. The flags are
those of memtrain.

It is no formula: two steps of the run are rehearsed on a device that computes
nothing, by the code that trains, and with an allocator that has PyTorch's
rules. A run fits on a device when its allocator can serve it with what is left
of these after ` + program.OutsideAllocator() + ` that CUDA itself takes:
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

// estimate prints what a run would need.
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
