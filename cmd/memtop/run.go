package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/device/cuda/callers"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/probe/python"
	"github.com/memtop/memtop/probe/sensor"
)

func (a *app) runCommand() *cobra.Command {
	var watched bool
	cmd := &cobra.Command{
		Use:   "run [--] PROGRAM [ARGUMENT...]",
		Short: "Start a PyTorch program so that it can be attached to",
		Long: `Start a program as if memtop were not there: in this terminal, with the same process
number and exit code. Every Python process of it that imports PyTorch and trains gets
memtop's agent: all ranks of torchrun, but no launcher and no data loader worker. Then
run memtop attach in another terminal.

memtop sets PYTHONPATH, which Python ignores if it is called with -I, -E or -S. Your own
sitecustomize still runs. With --driver-calls memtop also sets LD_PRELOAD: a small library
sees which libraries take memory of NVIDIA's driver and how much, beside PyTorch. It changes
no call.`,
		Example: `  memtop run -- python train.py --epochs 3
  memtop run --driver-calls -- python train.py
  memtop run -- torchrun --nproc-per-node 8 train.py
  memtop run -- accelerate launch train.py`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, "it needs a program, such as python train.py")
			}
			return a.run(cmd.Context(), args, watched)
		},
	}
	cmd.Flags().BoolVar(&watched, "driver-calls", false, "see which libraries take memory of NVIDIA's driver, by a library that is loaded into the program")
	cmd.Flags().SetInterspersed(false) // what follows the program is the program's
	return cmd
}

// run replaces memtop by the program. It returns only if that fails.
func (c *console) run(ctx context.Context, args []string, watched bool) error {
	path, err := exec.LookPath(args[0])
	if err != nil && !errors.Is(err, exec.ErrDot) { // a shell takes what PATH says too
		return command.ProgramError(args[0], err)
	}
	agent, err := unpackAgent()
	if err != nil {
		return err
	}
	if option := python.Ignoring(append([]string{path}, args[1:]...)); option != "" {
		fmt.Fprintf(c.stderr, "memtop: python %s ignores PYTHONPATH, so there will be no agent; leave it out, or import memtop.auto in the program\n", option)
	}
	protocol.RemoveStale(ctx, protocol.Folder()) // until the program listens, who looks would find those alone
	environ := python.Environment(os.Environ(), agent)
	if host, err := sensor.Start(ctx, "", os.Getpid()); err != nil {
		fmt.Fprintf(c.stderr, "memtop: the program runs, but memtop cannot attach to it: %v\n", err)
	} else {
		environ = sensor.Environment(environ, host)
	}
	if watched {
		folder, err := callers.Install(filepath.Dir(agent))
		if err != nil {
			return err
		}
		environ = callers.Environment(environ, folder)
	}
	return command.ProgramError(args[0], become(path, args, environ))
}
