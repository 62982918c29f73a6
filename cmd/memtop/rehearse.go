package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/cmd/memtop/rehearse"
	"github.com/memtop/memtop/engine/device/cuda/imitation"
	"github.com/memtop/memtop/probe/protocol"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/report"
)

// gpuChoice holds the flags that choose the GPUs of a rehearsal.
type gpuChoice struct {
	name   string
	file   string // with a GPU that is not in the catalogue
	memory command.Size
	fit    string // the name of a GPU, or the size of one's memory
}

// listsGPUs is the name of a GPU that prints the catalogue.
const listsGPUs = "list"

func (a *app) rehearseCommand() *cobra.Command {
	var r rehearse.Rehearsal
	on := gpuChoice{name: "h100-80gb"}
	var pythons []string
	var limit command.Size
	cmd := &cobra.Command{
		Use:   "rehearse [FLAGS] -- COMMAND [ARGUMENT...]",
		Short: "Run a PyTorch CUDA script without a GPU, and print whether it fits on one",
		Long: `Run a command that starts PyTorch, on an imitated GPU. No kernel runs and no memory is
taken, but PyTorch's own allocator decides as it would on that GPU. memtop prints
whether the program fits, its peak, and what holds the memory then. This needs the CUDA
build of PyTorch, but no GPU and no driver; memtop hides an existing GPU from the command.

The program ends after --steps optimizer steps, or when its peak has not risen for three
steps; a program without steps, or one that records its memory itself, runs to its end.
Code after the last step does not run, so it cannot save weights that were never computed;
--steps all runs it. Values that the program reads from
the device are zeros, except for values that it has just copied there, so its loss means
nothing.

If the program does not fit, memtop runs it again without a limit, to see what it needs,
and then with changes that may make it fit. If it reads values that nothing computes,
memtop runs it once more with other values, to see whether sizes depend on them.
--advice also tries changes of a program that fits; --no-advice runs it once.
--fit finds the cheapest change with which it fits, proves it, and prints it as a patch.
Two --python run the program in two environments, and say what makes their peaks differ.

The exit code is 0 if it fits, with --fit as it is or changed, 11 if it does not, and the
program's own if it failed. A program that catches its lack of memory fits if it makes
steps afterwards; --caught says otherwise.`,
		Example: `  memtop rehearse -- python train.py
  memtop rehearse --gpu rtx4090 --steps 3 -o plan.pickle -- python train.py
  memtop rehearse --vary batch=1..64 -- python train.py --batch-size {batch}
  memtop rehearse --gpu rtx4090,a100-80gb --vary batch=1..64 -- python train.py --batch-size {batch}
  memtop rehearse --fit 24GiB -- python train.py
  memtop rehearse --python old/bin/python --python new/bin/python -- train.py
  memtop rehearse --gpus 8 -- torchrun --nproc-per-node 8 train.py
  memtop rehearse --values upper --set router.py:16=128 -- python train.py
  memtop rehearse --world 64 --rank 0,63 -- python train.py
  memtop rehearse --gpu list`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if on.name == listsGPUs {
				return a.listGPUs()
			}
			if err := exclusive(cmd, "advice no-advice fit", "memory fit", "vary fit", "vary python", "fit python", "advice python", "output python"); err != nil {
				return err
			}
			if err := on.toFit(cmd, &r); err != nil {
				return err
			}
			gpus, err := on.choose(cmd, &r)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return usage(cmd, "it needs a command, such as python train.py")
			}
			if err := checkRanks(cmd, &r); err != nil {
				return err
			}
			if err := checkPythons(cmd, pythons); err != nil {
				return err
			}
			if len(pythons) == 1 {
				args = withPython(pythons[0], args)
			}
			if err := protocol.MakeFolder(protocol.Folder(), os.Geteuid()); err != nil {
				return err // the agent needs it, and without an agent the answer is a guess
			}
			r.Agent, r.Report, r.Said = unpackAgent, a.files.report, a.stderr
			if isTerminal(a.stderr) {
				r.Comment = a.note
			}
			if len(pythons) == 2 {
				return a.upgrade(cmd.Context(), &r, gpus[0], pythons, args, changed(cmd, "max-growth", &limit))
			}
			if r.Vary.Name != "" {
				return a.vary(cmd.Context(), &r, gpus, args)
			}
			return a.rehearse(cmd.Context(), &r, gpus[0], args)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command is the command's
	f.StringVar(&on.name, "gpu", on.name, "`NAME` of the GPU, several with --vary, or list")
	f.StringVar(&on.file, "gpu-file", "", "`FILE` with another GPU, as --gpu list --json prints one")
	f.Var(&on.memory, "memory", "`SIZE` of the GPU's memory, if it is not the usual one")
	f.StringVar(&on.fit, "fit", "", "find the cheapest change with which it fits a GPU: `SIZE|NAME`, 24GiB or rtx4090")
	f.StringArrayVar(&pythons, "python", nil, "`PYTHON` that runs the command; given twice, the peaks with both are compared")
	f.Var(&limit, "max-growth", "with two --python: exit with code 10 if the second takes more than this beyond the first")
	f.IntVar(&r.Devices, "gpus", 1, "number of GPUs (default 1, with --world up to 8)")
	f.IntVar(&r.World, "world", 0, "run the command as one rank of a job of `N`; the other ranks do not run")
	f.IntSliceVar(&r.Ranks, "rank", []int{0}, "which ranks, with --world")
	f.Var(&r.Steps, "steps", "end after `N` optimizer steps, or all (default when the peak stays)")
	f.Var(&r.Values.Most, "values", "values that decide a size, `zeros|upper`: with upper, nonzero, masks and unique return as much as they can")
	f.Var(&r.Values.Set, "set", "the value that the program reads on a line, as `LINE=VALUE`: gpt.py:16=128; may be repeated")
	f.Var(&r.Caught, "caught", "a program that catches its lack of memory `auto|fits|fails`: auto, it fits if it makes steps afterwards")
	f.Var(&r.Vary, "vary", "replace {NAME} in the command by `NAME=VALUES`, 1..64 or 8,16,32, and find the largest that fits")
	f.StringVarP(&r.To.Path, "output", "o", "", "`FILE` for PyTorch's own snapshot, of each rank with its number")
	f.BoolVar(&r.To.Overwrite, "force", false, "replace an existing file")
	f.BoolVar(&r.NoAdvice, "no-advice", false, "run once, even if the program does not fit, or if sizes may depend on values that it reads")
	f.BoolVar(&r.Advice, "advice", false, "run it again with changes that take less, even if it fits")
	a.settings.jsonFlag(f)
	_ = cmd.RegisterFlagCompletionFunc("gpu", completeGPU)
	return cmd
}

func completeGPU(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return append(names(), listsGPUs), cobra.ShellCompDirectiveNoFileComp
}

func names() (list []string) {
	for _, g := range imitation.Catalogue() {
		list = append(list, g.Name)
	}
	return list
}

// toFit takes what a program is to fit, if that is asked for.
func (c *gpuChoice) toFit(cmd *cobra.Command, r *rehearse.Rehearsal) error {
	r.Fit = c.fit != ""
	if !r.Fit || c.memory.Set(c.fit) == nil {
		return nil
	}
	if cmd.Flags().Changed("gpu") {
		return usage(cmd, fmt.Sprintf("--fit %s is no size, and --gpu names another GPU", c.fit))
	}
	c.name = c.fit
	return nil
}

// choose returns the requested GPUs; only --vary takes several.
func (c *gpuChoice) choose(cmd *cobra.Command, r *rehearse.Rehearsal) (gpus []imitation.GPU, err error) {
	for name := range strings.SplitSeq(c.name, ",") {
		g, err := c.find(name)
		switch {
		case err != nil:
			return nil, err
		case c.memory > 0 && int64(c.memory) <= g.Context:
			return nil, usage(cmd, fmt.Sprintf("a GPU of %s is less than CUDA's context takes, %s", quantity.Bytes(int64(c.memory)), quantity.Bytes(g.Context)))
		case c.memory > 0:
			g.Total = int64(c.memory)
		}
		gpus = append(gpus, g)
	}
	switch {
	case len(gpus) > 1 && r.Vary.Name == "":
		return nil, usage(cmd, "several GPUs need --vary")
	case r.Devices < 1 || r.Devices > imitation.MostDevices:
		return nil, usage(cmd, fmt.Sprintf("--gpus must be from 1 to %d", imitation.MostDevices))
	case r.To.Path != "" && r.Vary.Name != "":
		return nil, usage(cmd, "--output is for one run, and cannot be combined with --vary")
	case r.To.Path != "":
		return gpus, r.To.Check()
	}
	return gpus, nil
}

// find returns the GPU with a name, or the GPU of the user's file.
func (c *gpuChoice) find(name string) (imitation.GPU, error) {
	if c.file == "" {
		g, found := imitation.Find(name)
		if !found {
			return g, command.Usage(fmt.Sprintf("there is no GPU %q in the catalogue", name), "memtop rehearse --gpu list, or --gpu-file FILE")
		}
		return g, nil
	}
	file, err := os.Open(c.file)
	if err != nil {
		return imitation.GPU{}, err
	}
	defer file.Close() // it was only read
	g, err := imitation.Describe(file)
	if err != nil {
		return g, command.Usage(fmt.Sprintf("%s: %v", c.file, err), "a file in the form of memtop rehearse --gpu list --json")
	}
	return g, nil
}

// exclusive returns an error if several flags of a group are given, which has their names with spaces between.
func exclusive(cmd *cobra.Command, groups ...string) error {
	for _, group := range groups {
		given := slices.DeleteFunc(strings.Fields(group), func(name string) bool { return !cmd.Flags().Changed(name) })
		if len(given) > 1 {
			return usage(cmd, "--"+strings.Join(given, " and --")+" cannot be combined")
		}
	}
	return nil
}

// checkPythons checks the flags of a comparison.
func checkPythons(cmd *cobra.Command, pythons []string) error {
	given := cmd.Flags().Changed
	switch {
	case len(pythons) > 2:
		return usage(cmd, "--python is for one environment, or two to compare")
	case len(pythons) < 2 && given("max-growth"):
		return usage(cmd, "--max-growth needs two --python")
	}
	return nil
}

// changed returns a flag's value, nil if the flag was not given.
func changed(cmd *cobra.Command, name string, value *command.Size) *command.Size {
	if !cmd.Flags().Changed(name) {
		return nil
	}
	return value
}

// ranksOfMachine is the assumed number of GPUs of each machine in a large job.
const ranksOfMachine = 8

// checkRanks checks that the ranks to run belong to the job.
func checkRanks(cmd *cobra.Command, r *rehearse.Rehearsal) error {
	if r.World == 0 {
		if cmd.Flags().Changed("rank") {
			return usage(cmd, "--rank needs --world: without it, every rank that the command starts is rehearsed")
		}
		r.Ranks = []int{0}
		return nil
	}
	if r.World < 1 || r.Vary.Name != "" {
		return usage(cmd, "--world must be a number of ranks, and cannot be combined with --vary")
	}
	if !cmd.Flags().Changed("gpus") {
		r.Devices = min(r.World, ranksOfMachine)
	}
	for _, rank := range r.Ranks {
		if rank < 0 || rank >= r.World {
			return usage(cmd, fmt.Sprintf("there is no rank %d in a job of %d", rank, r.World))
		}
	}
	return nil
}

// listGPUs prints the catalogue.
func (c *console) listGPUs() error {
	all := imitation.Catalogue()
	if c.settings.json {
		return c.printJSON(all)
	}
	fmt.Fprintf(c.stdout, "%-16s %12s %10s %10s  %s\n", "name", "memory", "capability", "processors", "as the driver names it")
	for _, g := range all {
		fmt.Fprintf(c.stdout, "%-16s %12s %10s %10d  %s\n", g.Name, quantity.Bytes(g.Total), g.Capability, g.Processors, g.Title)
	}
	return nil
}

// rehearse rehearses a command and prints the result.
func (c *console) rehearse(ctx context.Context, r *rehearse.Rehearsal, g imitation.GPU, args []string) error {
	shown := rehearse.Streams{Stdin: os.Stdin, Stdout: c.stdout.Raw(), Stderr: c.stderr.Raw()}
	if c.settings.json {
		shown.Stdout = shown.Stderr
	}
	found, code, err := r.Run(ctx, g, args, shown)
	if err == nil {
		if !c.settings.json && isTerminal(c.stdout) {
			fmt.Fprintln(c.stdout) // the program may have left its line unfinished, as progress bars do
		}
		err = c.print(found)
	}
	switch {
	case err != nil:
		return err
	case !found.Fits && (found.Fit == nil || !found.Fit.Fits):
		return command.Failure{Code: command.ExitDoesNotFit, Cause: "the program does not fit on an imitated " + g.Title}
	case found.Fits && code != 0:
		return rehearse.Failed(code, args)
	}
	return nil
}

// vary prints the largest value with which a command fits each GPU.
func (c *console) vary(ctx context.Context, r *rehearse.Rehearsal, gpus []imitation.GPU, args []string) error {
	all, err := r.Varied(ctx, gpus, args)
	if err != nil {
		return err
	}
	if c.settings.json {
		return c.printJSON(&report.Varied{Schema: report.RehearsalSchema, Command: args, Vary: all[0], On: all})
	}
	for i, v := range all {
		if i > 0 {
			fmt.Fprintln(c.stdout)
		}
		if err := v.Text(c.stdout, c.width()); err != nil {
			return err
		}
	}
	return nil
}
