package train

import (
	"context"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
)

// Plan describes a run that has not begun.
type Plan struct {
	// Build makes the model on a device, see [nn.Build].
	Build    func(d *tensor.Device) (nn.Module, error)
	Loss     nn.Module // as in [Config]
	Spec     data.Spec
	Batch    int
	Settings Settings
	// Group is the processes that train together, as in [Config]: the rehearsal takes
	// only its size.
	Group collective.Group
	// Allocator is how its allocator is set up.
	Allocator alloc.Options
	// Capacity is its memory in bytes; 0 is without end.
	Capacity int64
}

// Estimate is the memory that a step will need.
type Estimate struct {
	Memory     Memory
	Parameters int64 // their number
}

// estimatedSteps is how many steps are run: the second finds the memory that the
// first has left, as all later ones do.
const estimatedSteps = 2

// Estimate runs the plan's steps on a device that computes nothing: the same code
// asks an allocator of the same kind for the same bytes. It fails as the steps
// would fail: with an [OutOfMemoryError] if the capacity is too small, and with a
// [TooSmallError] if the settings' budget is too small.
func (p Plan) Estimate(ctx context.Context) (Estimate, error) {
	p, err := p.Budgeted(ctx)
	if err != nil {
		return Estimate{}, err
	}
	if p.Settings.Budget > 0 {
		p.Allocator.Limit = p.Settings.Budget
	}
	list, err := p.rehearse(ctx, p.Settings)
	if err != nil {
		return Estimate{}, err
	}
	return list[0], nil
}

// rehearse runs steps with one group of settings after the other, as one run
// whose settings change. It returns what the last step of each group needed.
func (p Plan) rehearse(ctx context.Context, groups ...Settings) (list []Estimate, err error) {
	p.Settings = groups[0]
	err = p.stage(func(t *Trainer) error {
		for _, s := range groups {
			e, err := t.estimate(ctx, s)
			if err != nil {
				return err
			}
			list = append(list, e)
		}
		return nil
	})
	return list, err
}

// stage calls f with a trainer of the plan on a device that computes nothing.
func (p Plan) stage(f func(t *Trainer) error) error {
	o := p.Allocator
	o.Names, o.Recorder, o.History, o.Stacks = nil, nil, 0, false
	a, err := alloc.New(dry.NewMemory(p.Capacity), o)
	if err != nil {
		return err
	}
	d := tensor.NewDevice("dry", a, dry.Backend{}, tensor.Options{Unnamed: true})
	group := p.Group
	if group != nil {
		group = collective.Rehearsal(group.Rank(), group.Size())
	}
	model, err := p.Build(p.Settings.Home(d, group))
	if err != nil {
		return OutOfMemory(err, "making the model")
	}
	defer nn.Close(model)
	t, err := New(Config{
		Device: d, Model: model, Loss: p.Loss, Spec: p.Spec, Batch: p.Batch, Settings: p.Settings,
		Batches: empty{data.Empty(p.Spec, p.Batch)}, Build: p.Build, rehearses: &p, Group: group,
	})
	if err != nil {
		return err
	}
	defer t.Close()
	return f(t)
}

// estimate runs steps with the given settings.
func (t *Trainer) estimate(ctx context.Context, s Settings) (Estimate, error) {
	if err := t.Set(s); err != nil {
		return Estimate{}, err
	}
	var e Event
	for range estimatedSteps {
		var err error
		if e, err = t.Step(ctx); err != nil {
			return Estimate{}, err
		}
	}
	estimate := Estimate{Memory: e.Memory}
	for _, p := range t.parameters {
		estimate.Parameters += int64(p.Data().Size())
	}
	return estimate, nil
}

// empty are batches of zeros.
type empty struct{ batch *data.Batch }

func (e empty) Next(ctx context.Context) (*data.Batch, error) { return e.batch, ctx.Err() }

func (empty) Position() int64 { return 0 }
