package program

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/launcher"
)

// options are the flags.
type options struct {
	device       string
	deviceMemory command.Size
	model        string
	sizes
	half      half
	data      string
	workers   int
	prefetch  int
	steps     int64
	seed      uint64
	save      string
	resume    string
	init      string
	snapshot  string
	allocConf string
	leak      string
	probe     string
	blackBox  string
	saveEvery int64
	asJSON    bool
	force     bool
	ranks     string
	launched  launcher.Place   // where a launcher has put it; zero for one process
	group     collective.Group // the processes that train together, nil for one
	// settings are the flags of settings, which may change from step to step, by
	// the setting's key; "" means that the flag was not given.
	settings map[string]*string

	layersTable bool

	preset preset // of model, once complete
	flags  *pflag.FlagSet
	reach  Reach
}

// settingFlags are the settings in the order in which help has their flags.
var settingFlags = []string{
	"optimizer", "lr", "schedule", "clip", "amp", "checkpoint", "main_copies", "attention", "loss", "residual", "offload", "host",
	"memory_budget", "shard", "pad_vocab", "accumulate", "micro_batch",
}

// flagOf returns the flag of a setting.
func flagOf(key string) string {
	if key == "loss" {
		key = "loss_memory"
	}
	return strings.ReplaceAll(key, "_", "-")
}

// root returns the command line.
func root(stdout *command.Output, reach Reach) *cobra.Command {
	o := &options{reach: reach}
	c := &cobra.Command{
		Use:   "memtrain",
		Short: "Train a small model, and say where its memory goes",
		Long: `memtrain trains a small model on memtop's engine: by default a GPT, on a text that
comes with the program, on this machine's processor. The device cpu:0 has a memory of
its own, which can run out.

Each step prints its loss and the memory it took. Ctrl-C or another signal ends training
after the current step; memtrain still writes the files of --save and --snapshot, and
the exit code is 128 plus the number of the signal.`,
		Example: `  memtrain
  memtrain --layers 6 --dim 256 --seq 256 --checkpoint block --amp bf16
  memtrain --data book.txt --steps 1000 --save run.mem
  memtrain --resume run.mem --steps 2000
  memtrain --device-memory 64MiB --seq 256 --force --snapshot oom.pickle
  memtrain --leak cache --json`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Version:           command.Version("memtrain"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.train(cmd.Context(), stdout, cmd.ErrOrStderr())
		},
	}
	c.SetVersionTemplate("{{.Version}}\n")
	o.register(c.Flags())
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%s", command.FlagCause(err)) })
	c.Args = flagsOnly
	c.CompletionOptions.DisableDefaultCmd = true
	c.SetHelpCommand(&cobra.Command{Hidden: true})
	return c
}

func flagsOnly(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("memtrain takes flags only, not %q", args[0])
	}
	return nil
}

func (o *options) register(f *pflag.FlagSet) {
	o.begin(f)
	o.registerRun(f)
	f.Int64Var(&o.steps, "steps", 200, "steps of the whole run, 0 for no end")
	f.StringVar(&o.save, "save", "", "save the run to `FILE` when it ends")
	f.Int64Var(&o.saveEvery, "save-every", 0, "save every `N` steps too, so that a killed run can continue")
	f.StringVar(&o.resume, "resume", "", "continue the run that was saved to `FILE`")
	f.StringVar(&o.init, "init", "", "start with `WEIGHTS` saved by PyTorch, a .pt file")
	f.StringVar(&o.snapshot, "snapshot", "", "write a memory snapshot in PyTorch's format to `FILE`, at the end, on SIGUSR1 and when memory runs out")
	f.StringVar(&o.leak, "leak", "", "make a mistake in every step, `KIND`: activations, cache, gradients or handle")
	f.StringVar(&o.probe, "probe", "on", "let memtop attach to the run: `on or off`")
	f.StringVar(&o.blackBox, "black-box", "on", "keep the last events in a file in memory that survives if the run is killed, `on, off or SIZE`: memtop ls --dead")
	f.StringVar(&o.ranks, "ranks", ranksAuto, "`auto`: train together with the other processes that mpirun, srun or torchrun started; off: train alone")
	f.BoolVar(&o.force, "force", false, "start even if the run will not fit")
	f.BoolVar(&o.layersTable, "layers-table", false, "print at the end what each layer did in the last step")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object a step")
}

// registerRun adds the flags for the model, the data and the device.
func (o *options) registerRun(f *pflag.FlagSet) {
	f.StringVar(&o.device, "device", "auto", "`DEVICE` to train on: auto, cpu:0 or cuda:N; auto is a GPU if there is one; several processes use one each")
	o.deviceMemory = cpu.DefaultCapacity
	f.Var(&o.deviceMemory, "device-memory", "memory of cpu:0")
	o.registerPlan(f)
	f.StringVar(&o.allocConf, "alloc-conf", "", "`SETTINGS` of the allocator, as PYTORCH_CUDA_ALLOC_CONF has them: expandable_segments:True")
	f.StringVar(&o.data, "data", "", "text or token `FILE` to train models of text on (default a text that comes with memtrain)")
	f.IntVar(&o.workers, "workers", 2, "prepare batches on `N` threads; the samples do not depend on it")
	f.IntVar(&o.prefetch, "prefetch", 1, "keep `N` batches ready for each worker")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the weights, of dropout and of the order of samples")
}

// begin takes the flags of a command.
func (o *options) begin(f *pflag.FlagSet) {
	o.flags, o.settings = f, make(map[string]*string)
	f.SortFlags = false
}

// registerPlan adds the flags for the model and its training: everything that an
// estimate needs.
func (o *options) registerPlan(f *pflag.FlagSet) {
	f.StringVar(&o.model, "model", "gpt", "`MODEL`: "+presetNames()+"; the following change its sizes")
	for _, size := range sizeFlags {
		f.IntVar(size.of(&o.sizes), size.name, 0, size.usage)
	}
	f.Float64Var(&o.dropout, "dropout", 0, "`PROBABILITY` of dropout in gpt, after the embeddings and on every branch")
	for _, key := range settingFlags {
		o.settings[key] = f.String(flagOf(key), "", train.Help(key))
	}
	f.Var(&o.half, "half", "the whole model in `TYPE`, bf16 or fp16: --half=fp16; without one bf16")
	f.Lookup("half").NoOptDefVal = string(defaultHalf)
}

// given reports whether a flag was on the command line.
func (o *options) given(flag string) bool { return o.flags.Changed(flag) }

// change applies the flags of settings to s.
func (o *options) change(s train.Settings) (train.Settings, error) {
	for _, key := range settingFlags {
		if !o.given(flagOf(key)) {
			continue
		}
		var err error
		if s, err = s.With(key, *o.settings[key]); err != nil {
			return s, usagef("--%s: %v", flagOf(key), err)
		}
	}
	if o.given("accumulate") && o.given("micro-batch") {
		// Setting one has reset the other; the trainer checks that they agree.
		both, err := s.With("accumulate", *o.settings["accumulate"])
		if err != nil {
			return s, usagef("%v", err)
		}
		s.Accumulate = both.Accumulate
	}
	if _, err := s.Parts(o.share()); err != nil {
		return s, usagef("%v", err)
	}
	return s, nil
}

// programFlags are the flags that a saved run remembers, and those of them that
// must not change.
var (
	programFlags = append([]string{"data", "steps", "device-memory"}, fixedFlags...)
	fixedFlags   = append([]string{"model", "half", "seed", "dropout"}, sizeNames()...)
)

// program returns the flags that a saved run remembers.
func (o *options) program() map[string]string {
	m := make(map[string]string, len(programFlags))
	for _, name := range programFlags {
		m[name] = o.flags.Lookup(name).Value.String()
	}
	return m
}

// restore sets the flags that were not given to those of a saved run.
func (o *options) restore(program map[string]string) error {
	for _, name := range programFlags {
		value, known := program[name]
		switch {
		case !known:
		case !o.given(name):
			if err := o.flags.Lookup(name).Value.Set(value); err != nil {
				return usagef("the saved run has --%s %s: %v", name, value, err)
			}
		case slices.Contains(fixedFlags, name) && o.flags.Lookup(name).Value.String() != value:
			return command.Usage(
				"--"+name+" cannot change in the middle of a run; it was "+value,
				"leave it out, or start a new run without --resume",
			)
		}
	}
	return nil
}
