package program

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/engine/weights"
	"github.com/memtop/memtop/probe"
	"github.com/memtop/memtop/probe/engine"
	"github.com/memtop/memtop/snapshots/trace"
)

// session is a run: everything that is open while it trains. The goroutine that
// trains owns it.
type session struct {
	*options
	stderr    io.Writer // for problems that do not end the run
	machine   Machine
	without   error // why there is no GPU, if auto looked for one
	capacity  int64 // of the machine's memory
	memory    *alloc.Allocator
	device    *tensor.Device
	set       data.Dataset
	model     nn.Module
	loader    *data.Loader
	trainer   *train.Trainer
	saved     *train.Saved    // nil when the run begins here
	weights   []weights.Array // that the run begins with, if any were given
	settings  train.Settings
	probed    bool         // a probe is wanted
	box       int          // the size of its black box, as probe.Options have it
	listening *probe.Probe // nil when there is none
	boxless   bool         // it was said that the run has no black box
	closers   []func()
	signalled func() bool // training is to end
	place     *trace.Rank // among the processes of the run; nil for one that is alone
}

// train is the program.
func (o *options) train(ctx context.Context, stdout *command.Output, stderr io.Writer) error {
	s := &session{options: o, stderr: stderr}
	defer s.close()
	s.signalled = func() bool { return ctx.Err() != nil }
	if err := s.open(ctx, stdout); err != nil {
		return err
	}
	r := newReporter(s, s.spoken(stdout))
	err := s.loop(ctx, r)
	if failed := s.finish(err); failed != nil {
		return failed // the failure of requested output matters more than why training ended
	}
	return s.leave(err)
}

// open makes everything that the run needs.
func (s *session) open(ctx context.Context, stdout *command.Output) error {
	leak, err := train.ParseLeak(s.leak)
	if err != nil {
		return usagef("--%v", err)
	}
	if s.box, err = s.blackBoxSize(); err != nil {
		return err
	}
	if s.probed, err = s.probeSwitch(); err != nil {
		return err
	}
	for _, step := range []func() error{
		s.checkOutputs, s.checkTables, s.checkLoader, s.openSaved, s.complete, s.findPlace, s.openDevice, s.joinRanks, s.openData, s.openWeights, s.readSettings,
		func() error { return s.fitBudget(ctx) },
		func() error { return s.announce(ctx, s.spoken(stdout)) },
		s.openModel, s.openTrainer,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	s.trainer.Plant(leak)
	if s.probed {
		s.openProbe(ctx)
	}
	return nil
}

func (s *session) close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

func (s *session) onClose(f func()) { s.closers = append(s.closers, f) }

// checkOutputs checks before training that the requested files can be written
// afterwards.
func (s *session) checkOutputs() error {
	if s.saveEvery < 0 || s.saveEvery > 0 && s.save == "" {
		return usagef("--save-every %d: want a number of steps, and a file with --save", s.saveEvery)
	}
	for _, path := range []string{s.save, s.snapshot} {
		if path == "" {
			continue
		}
		if err := s.output(path).Check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) openSaved() (err error) {
	switch {
	case s.resume == "":
		return nil
	case s.init != "":
		return usagef("--resume and --init: a resumed run has its weights already")
	}
	if s.saved, err = train.Open(s.resume); err != nil {
		return err
	}
	s.onClose(s.saved.Close)
	var program map[string]string
	if err := s.saved.Program(&program); err != nil {
		return err
	}
	if err := checkProgram(program); err != nil {
		return s.neverSaved(err)
	}
	if err := s.restore(program); err != nil {
		return err
	}
	if s.steps != 0 && s.saved.Step() >= s.steps {
		return command.Usage("the saved run has taken all of its steps", "give more than that with --steps")
	}
	return nil
}

// neverSaved returns the error about a file with values that no run can have.
func (s *session) neverSaved(why error) error {
	return &train.DamagedError{Path: s.resume, Reason: "the run that it says was never saved: " + why.Error()}
}

// checkProgram checks that a run can be started with a saved run's flags. It does
// not check the flags that the user adds; mistakes in those are reported as the
// user's.
func checkProgram(program map[string]string) error {
	var o options
	o.register(pflag.NewFlagSet("saved", pflag.ContinueOnError))
	if err := o.restore(program); err != nil {
		return err
	}
	return o.complete()
}

// history is how many events of the allocator a snapshot can hold.
const history = 1 << 18

func (s *session) openDevice() (err error) {
	if s.machine, s.without, err = s.openMachine(); err != nil {
		return err
	}
	s.onClose(func() { _ = s.machine.Close() }) // the process ends anyway
	_, s.capacity = s.machine.MemInfo()
	s.memory, err = alloc.New(s.machine, s.allocator())
	if wrong := new(alloc.ConfigError); errors.As(err, &wrong) {
		return usagef("--alloc-conf: %v", err)
	}
	if err != nil {
		return err
	}
	s.device = tensor.NewDevice(s.machine.Name(), s.memory, s.machine, tensor.Options{})
	if s.probed {
		engine.Watch(s.device)
	}
	return nil
}

func (s *session) allocator() alloc.Options {
	o := alloc.Options{Name: s.machine.Name(), Config: s.allocConf}
	if s.snapshot != "" {
		o.History, o.Stacks = history, true
	}
	return o
}

func (s *session) openData() (err error) {
	set, closeData, err := s.dataset()
	if err != nil && s.saved != nil && s.data == "" { // what a program brings with it has not changed since
		return s.neverSaved(err)
	}
	if err != nil {
		return err
	}
	s.set = set
	s.onClose(closeData)
	// Check this before asking for that much of the host's memory.
	if n := s.batchBytes(); n > s.capacity {
		return machineError{
			fmt.Sprintf("a batch of %d samples is %s, more than the device has", s.share(), sizeText(n)),
			"give more with --device-memory, or make --batch smaller",
		}
	}
	return s.checkStaging()
}

// readSettings finds the settings of the first step.
func (s *session) readSettings() (err error) {
	settings := train.DefaultSettings()
	settings.PadVocab = s.onGPU()
	settings.Schedule = optim.Schedule{Total: int(s.steps)}
	if s.saved != nil {
		if settings, err = s.savedSettings(); err != nil {
			return err
		}
	}
	if s.settings, err = s.change(settings); err != nil {
		return err
	}
	return nil
}

// savedSettings returns the settings of the saved run. One process divides
// nothing, even if the saved run did.
func (s *session) savedSettings() (train.Settings, error) {
	settings, err := s.saved.Settings(int(s.steps))
	if err != nil || s.group != nil {
		return settings, err
	}
	settings.Shard = train.ShardNothing
	if settings.MicroBatch == 0 || settings.Accumulate == 0 { // both together depend on how many processes there were
		if _, err := settings.Parts(s.batch); err != nil {
			return settings, &train.DamagedError{Path: s.resume, Reason: err.Error()}
		}
	}
	return settings, nil
}

func (s *session) openWeights() (err error) {
	if s.init != "" {
		s.weights, err = weights.Read(s.init)
	}
	return err
}

func (s *session) openModel() (err error) {
	home := s.device
	if err := tensor.Try(func() { home = s.settings.Home(s.device, s.group) }); err != nil {
		return err
	}
	if s.model, err = s.build(home); err != nil {
		return train.OutOfMemory(err, "making the model")
	}
	s.onClose(func() { nn.Close(s.model) })
	if s.init == "" {
		return nil
	}
	if _, err := weights.Assign(nn.Params(s.model), s.weights); err != nil {
		return command.Usage(s.init+": "+err.Error(), "give the sizes of that model with --layers, --dim, --heads, --seq and --vocab")
	}
	return nil
}

func (s *session) openTrainer() (err error) {
	start := int64(0)
	settings := s.settings
	if s.saved != nil {
		start = s.saved.Position()
		// The optimizer must read its saved state before its kind may change.
		if settings, err = s.savedSettings(); err != nil {
			return err
		}
		settings.Budget, settings.Offload, settings.Shard = 0, s.settings.Offload, s.settings.Shard // what it has now is another matter
	}
	if err := s.openLoader(start); err != nil {
		return err
	}
	s.trainer, err = train.New(train.Config{
		Device: s.device, Model: s.model, Batches: s.loader,
		Spec: s.set.Spec(), Batch: s.share(), Seed: s.seed + uint64(s.rank())<<32, Group: s.group,
		Settings: settings, SaveOOM: s.saveOOM, Build: s.build, Capacity: s.capacity, Adjusted: s.adjusted, Ends: s.signalled, Refused: s.refused,
	})
	if err != nil {
		return err
	}
	s.onClose(s.trainer.Close)
	if s.saved == nil {
		return nil
	}
	if err := s.trainer.Resume(s.saved); err != nil {
		return err
	}
	return s.trainer.Set(s.settings)
}
