package train

import (
	"context"
	"slices"
	"time"

	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/collective"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/optim"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Step trains on the next batch and waits for the result. After an error the
// trainer is as it was before the step, and the next step takes the same batch.
// If the device has no memory, the error is an [OutOfMemoryError]. If that error
// says that the step is lost, some parameters have changed.
func (t *Trainer) Step(ctx context.Context) (Event, error) {
	q, err := t.Queue(ctx)
	if err != nil {
		return Event{}, err
	}
	return q.Wait()
}

// Queue gives the device the work of the next step and does not wait for it, so
// that a GPU gets the following step before it has finished this one. Its errors
// are those of Step.
func (t *Trainer) Queue(ctx context.Context) (*Queued, error) {
	if err := t.agree(); err != nil {
		return nil, t.failed(err, "step "+count(t.step+1))
	}
	return t.queueWithin(ctx)
}

// queue is Queue with the settings as they are.
func (t *Trainer) queue(ctx context.Context) (*Queued, error) {
	start, d, communicated := time.Now(), t.config.Device, collective.TimesOf(t.config.Group)
	used := t.next()
	s := *used
	parts, err := s.Parts(t.config.Batch)
	if err != nil {
		return nil, err
	}
	batch, err := t.take(ctx)
	if err != nil {
		return nil, err
	}
	random := t.ctx.Random()
	t.ctx.Reset()
	d.Memory().ResetPeak()
	if h := d.HostMemory(); h != nil {
		h.ResetPeak()
	}
	toHost, fromHost := d.Crossed()
	q := &Queued{trainer: t, start: start, Settings: s}
	e := &q.Event
	e.Step, e.Tokens = t.step+1, int64(batch.Size*batch.Spec.Target.Size()*t.world())
	err = tensor.Try(func() {
		d.Memory().Mark(trace.StepBegin, e.Step, "")
		t.apply(&s, e.Step)
		t.fit(batch.Spec)
		t.run(batch, parts, q)
		d.Land()
	})
	if err != nil {
		t.dropGradients()
		_ = tensor.Try(d.Land) // the first failure is returned
		err = t.failed(err, "step "+count(e.Step))
		if !t.updating {
			t.again = batch
			t.ctx.SetRandom(random)
			return nil, err
		}
		t.updating = false
		batch.Release()
		return nil, lost(err)
	}
	batch.Release()
	t.step++
	e.Action = t.act()
	d.Memory().Mark(trace.StepEnd, e.Step, "")
	d.Settle()
	e.Duration = time.Since(start)
	e.Memory, e.Communication = memoryOf(d), collective.TimesOf(t.config.Group).Since(communicated)
	e.ToHost, e.FromHost = d.Crossed()
	e.ToHost, e.FromHost = e.ToHost-toHost, e.FromHost-fromHost
	if err := tensor.Try(func() { e.Ranks = t.gather(&e.Memory) }); err != nil {
		return nil, t.failed(err, "step "+count(e.Step))
	}
	e.Settings = t.filled(s)
	t.noteLeft(used, e)
	return q, nil
}

// take returns the batch of a step that failed, or the next one.
func (t *Trainer) take(ctx context.Context) (*data.Batch, error) {
	if batch := t.again; batch != nil {
		t.again = nil
		return batch, nil
	}
	return t.config.Batches.Next(ctx)
}

// position is the number of the batch that the next step takes.
func (t *Trainer) position() int64 {
	if t.again != nil {
		return t.again.Number
	}
	return t.config.Batches.Position()
}

// run computes the step itself.
func (t *Trainer) run(batch *data.Batch, parts []int, q *Queued) {
	t.input.Upload(batch.Input)
	t.target.Upload(batch.Target)
	if t.onStep != nil {
		t.onStep()
	}
	from := 0
	t.ctx.KeepCasts(t.optimizer.Renews, func() {
		for i, n := range parts {
			if t.parallel != nil {
				t.parallel.last = i == len(parts)-1 && t.current.Shard < ShardGradients
			}
			q.losses = append(q.losses, partLoss{t.part(from, n), float64(n) / float64(batch.Size)})
			from += n
		}
	})
	if t.parallel != nil {
		for i, loss := range t.parallel.finish() {
			q.losses[i].loss = loss
		}
	}
	q.applied = t.update(t.current.LR * t.current.Schedule.Factor(int(t.step)))
	t.dropGradients()
	t.updating = false
}

// part runs n samples from number from on, forward and backward, and returns
// their loss.
func (t *Trainer) part(from, n int) (loss *tensor.Pending) {
	c := t.ctx
	c.Run(func() {
		value := t.forward(from, n)
		if t.parallel != nil {
			t.parallel.lose(value.Data())
		}
		c.Backward(t.weigh(value, n))
		if t.parallel == nil {
			loss = value.Data().Fetch() // now, as the backward pass may compute it
		}
	})
	return loss
}

func (t *Trainer) forward(from, n int) *autograd.Value {
	c := t.ctx
	x := c.Take(t.input.Narrow(0, from, n))
	target := c.Take(t.target.Narrow(0, from, n))
	output := c.Call(t.config.Model, x)
	loss := c.Call(t.config.Loss, output, target)
	c.Done(output)
	return loss
}

// weigh scales the loss of n samples to their part of the batch's, and by the
// loss scale.
func (t *Trainer) weigh(loss *autograd.Value, n int) *autograd.Value {
	if n != t.config.Batch {
		loss = t.ctx.Scale(loss, float64(n)/float64(t.config.Batch))
	}
	if t.scales(&t.current) {
		loss = t.scaler.Scale(t.ctx.Tape, loss)
	}
	return loss
}

// update uses the gradients. It returns a function that reports whether they were
// used.
func (t *Trainer) update(lr float64) (applied func() bool) {
	var over optim.Overflow
	if t.scales(&t.current) {
		t.scaler.Unscale(t.parameters)
		over = t.scaler
	}
	var clip *optim.Clipping
	if t.current.Clip > 0 {
		clip = optim.Clip(t.config.Device, t.parameters, t.current.Clip)
		defer clip.Release()
	}
	t.updating = true
	applied = t.optimizer.Step(lr, over, clip, t.ctx.Tape)
	if t.scales(&t.current) {
		t.scaler.Update()
	}
	return applied
}

// scales reports whether the loss is scaled, so that gradients do not vanish in
// float16.
func (t *Trainer) scales(s *Settings) bool {
	return s.AMP == amp.FP16 || slices.ContainsFunc(t.parameters, func(p *autograd.Variable) bool { return p.Data().DType() == device.Float16 })
}

func (t *Trainer) dropGradients() {
	t.parallel.reset()
	for _, p := range t.parameters {
		p.ZeroGrad()
	}
}
