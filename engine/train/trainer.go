package train

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Batches is the source of samples: a [data.Loader], or a test's own.
type Batches interface {
	// Next returns the next batch, which the trainer releases. It has
	// Config.Batch samples; their shape may be another from step to step.
	Next(ctx context.Context) (*data.Batch, error)
	// Position is the number of the batch that Next returns next.
	Position() int64
}

// Config holds the parts of a [Trainer].
type Config struct {
	Device *tensor.Device
	// Model takes a batch of inputs and returns what Loss takes. It stays the
	// caller's; nil has the trainer make one by Build.
	Model nn.Module
	// Loss takes what Model returns and the batch's targets, and returns one number,
	// the mean over the samples. It has no parameters, and rehearsals call it at the
	// same time, on other devices. nil is a [nn.CrossEntropy].
	Loss    nn.Module
	Batches Batches
	Spec    data.Spec // of the first batch
	// Data stands in for Batches and Spec: the trainer makes batches of it.
	Data  data.Dataset
	Batch int    // samples of one step
	Seed  uint64 // of dropout, and of the order of Data
	// Settings are those of the first step.
	Settings Settings
	// Scaler sets how the loss scale of fp16 changes; the zero value is
	// PyTorch's.
	Scaler amp.ScalerOptions
	// Group is the processes that train together, each on its own part of a
	// batch; nil means this process alone. All processes take the same steps with
	// the same settings. A step that fails leaves the other processes waiting:
	// end the group, or the process. The group stays the caller's.
	Group collective.Group
	// Ends, when given, says whether this process of a group is to end, see
	// [Trainer.Ends].
	Ends func() bool
	// Refused, when given, is called on the trainer's goroutine with changes of
	// settings that were made in this process and that some process of the group
	// cannot use. All processes go on with their previous settings.
	Refused func(changes []trace.Value, reason string)
	// Build, when given, makes the same model as Model, so that a trainer can
	// rehearse a change. It may be called at any time, on another device.
	Build func(d *tensor.Device) (nn.Module, error)
	// Capacity is the bytes of the device's memory, 0 if that is not known. A
	// trainer needs it to find how many samples fit.
	Capacity int64
	// SaveOOM, when given, is called when memory runs out, before anything is
	// released. It returns the file to which it saved the state of memory.
	SaveOOM func(*alloc.OOMError) (path string, err error)
	// Adjusted, when given, is called on the trainer's goroutine with every
	// change that Settings.Budget needs.
	Adjusted func(Adjustment)
	// rehearses is the plan that the trainer runs on a device that computes
	// nothing, nil if the trainer trains.
	rehearses *Plan
}

// Trainer trains a model.
type Trainer struct {
	config     Config
	settings   atomic.Pointer[Settings] // those of the next step
	actions    actions
	current    Settings // those of the step under way, or the last one
	ctx        *nn.Ctx
	parameters []*autograd.Variable
	parallel   *parallel // nil for one process
	low        bool      // some are in half precision
	optimizer  *optim.Optimizer
	scaler     *amp.Scaler // nil until a step runs in fp16
	input      *tensor.Tensor
	target     *tensor.Tensor
	spec       atomic.Pointer[data.Spec] // of the last batch
	step       int64                     // steps taken, skipped ones included
	began      int64                     // steps taken before this process
	waited     time.Time                 // when the last step was waited for
	report     report
	forecasts  known[trace.Prediction]
	layers     map[string]bool // the paths in the model
	budget     budget
	fresh      bool        // the last step had other settings than the one before
	again      *data.Batch // of a step that failed, nil for none
	updating   bool        // the optimizer changes parameters
	why        string      // what the next step's changes of settings are for, "" for nothing
	saved      string      // snapshot of the last OOM
	savedErr   error
	onStep     func() // of a planted leak; may be nil
	leaks      leaks
	made       []func() // release what the caller left to the trainer
}

// New returns a trainer with the memory that training needs between steps:
// optimizer state and inputs. It fails with an [OutOfMemoryError] when there is
// not enough, and with an ordinary error when the settings do not fit the batch.
// The caller closes it.
func New(c Config) (*Trainer, error) {
	if _, err := c.Settings.Parts(c.Batch); err != nil {
		return nil, err
	}
	if c.rehearses != nil {
		c.Settings = c.Settings.free()
	}
	t := &Trainer{
		config: c, current: c.Settings, ctx: nn.NewCtx(autograd.NewTape(c.Device, c.Seed), nn.Options{Training: true}),
	}
	c.Device.Memory().NotifyOOM(t.toldOOM)
	if err := t.open(); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// open makes what a new trainer has.
func (t *Trainer) open() error {
	if err := t.makeMissing(); err != nil {
		return err
	}
	c := &t.config
	t.parameters, t.layers = nn.Params(c.Model), layersOf(c.Model)
	t.low = slices.ContainsFunc(t.parameters, func(p *autograd.Variable) bool { return p.Data().DType().Size() == 2 })
	t.parallel = newParallel(c.Group, t.parameters)
	t.ctx.Name(c.Loss, lossName)
	if c.Settings.Budget > 0 {
		t.hold(c.Settings.Budget)
	}
	if err := tensor.Try(func() { t.fit(c.Spec) }); err != nil {
		return t.failed(err, "setting up")
	}
	if err := t.Set(c.Settings); err != nil {
		return err
	}
	t.current = t.Settings()
	err := tensor.Try(func() {
		t.optimizer = optim.New(t.homes(&t.current).ofState, t.parameters, t.current.Optimizer)
	})
	if err != nil {
		return t.failed(err, "setting up")
	}
	return nil
}

// Close releases the trainer's memory on the device. A model that the caller made
// stays.
func (t *Trainer) Close() {
	t.dropGradients()
	t.config.SaveOOM = nil // the allocator may go on without the trainer
	t.leaks.release()
	if t.again != nil {
		t.again.Release()
	}
	t.ctx.DropCasts()
	t.input.Release()
	t.target.Release()
	if t.optimizer != nil {
		t.optimizer.Close()
	}
	if t.scaler != nil {
		t.scaler.Close()
	}
	for _, release := range t.made {
		release()
	}
}

// Steps returns the number of steps taken, skipped ones included.
func (t *Trainer) Steps() int64 { return t.step }

// Ctx returns the context that the model computes with, for adding hooks.
func (t *Trainer) Ctx() *nn.Ctx { return t.ctx }

// Layers returns the measurements of every layer in the last step, in the order
// in which the layers ran. The next step changes them.
func (t *Trainer) Layers() []*nn.Layer { return t.ctx.Layers() }

// apply makes s the settings of the step that begins. It records the changes
// right at the step's begin, because their effect on memory belongs to the step.
func (t *Trainer) apply(s *Settings, step int64) {
	memory := t.config.Device.Memory()
	t.fresh = t.step == t.began || len(changes(&t.current, s)) > 0
	if t.fresh {
		t.ctx.DropCasts()
	}
	for _, k := range settingKeys {
		if before, now := k.get(&t.current), k.get(s); before != now && t.step > 0 {
			memory.Mark(trace.SettingChanged, step, k.key+"="+now)
		}
	}
	if t.why != "" {
		memory.Mark(trace.SettingChanged, step, t.why)
		t.why = ""
	}
	if s.Budget != t.current.Budget {
		t.hold(0) // what comes back from the host finds room
		defer t.hold(s.Budget)
	}
	t.offload(s)
	if s.Optimizer != t.optimizer.Settings() {
		t.optimizer.Change(s.Optimizer)
	}
	if t.scales(s) && t.scaler == nil {
		t.scaler = amp.NewScaler(t.config.Device, t.config.Scaler)
	}
	t.current = *s
	t.ctx.Options = nn.Options{
		Training: true, Checkpoint: s.Checkpoint, Attention: s.Attention, LossMemory: s.LossMemory, Residual: s.Residual,
		PadVocab: s.PadVocab,
	}
	t.ctx.SetCaster(s.AMP.Caster())
}

// scalerBytes is the state of a loss scaler: three numbers.
const scalerBytes = 3 * 4
