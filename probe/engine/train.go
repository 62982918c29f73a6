package engine

import (
	"context"
	"errors"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/probe"
)

// Train trains on a machine with a probe. It calls told after each step, and ends
// when told returns false or ctx is done, which is no error. It makes the
// config's device, which uses all memory of the machine. The caller owns the
// machine; nil is this machine's processor, as a device of
// [cpu.DefaultCapacity].[cpu.DefaultCapacity].
func Train(ctx context.Context, m Machine, c train.Config, told func(e *train.Event) bool) (err error) {
	if m == nil {
		own, err := cpu.Open(cpu.Options{})
		if err != nil {
			return err
		}
		defer func() { _ = own.Close() }() // it is no longer needed
		m = own
	}
	if c.Device, err = Open(m, alloc.Options{}); err != nil {
		return err
	}
	_, c.Capacity = m.MemInfo()
	t, err := train.New(c)
	if err != nil {
		return err
	}
	defer t.Close()
	p, err := Listen(context.WithoutCancel(ctx), probe.Options{}, t) // viewers see the last step too
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	return steps(ctx, t, p, told)
}

func steps(ctx context.Context, t *train.Trainer, p *probe.Probe, told func(e *train.Event) bool) error {
	for {
		e, err := t.Step(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		p.Step(t.Report(&e))
		if !told(&e) {
			return nil
		}
	}
}
