package autograd

import (
	"slices"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// # Checkpoints
//
// A checkpoint keeps the inputs of a function instead of what the function's
// operations would save, and runs the function again when the backward pass
// comes to it. After Chen et al., "Training Deep Nets with Sublinear Memory
// Cost" (2016).
//
// The second run has to compute the same bits. It therefore starts from the
// same place in the random sequence, converts types as the first run did, and
// runs on a tape record of its own, which is differentiated at once and
// released.

// setting is the state that the second run must find as the first run did.
type setting struct {
	random device.Seed
	caster Caster
	layer  string
	device *tensor.Device
}

func (t *Tape) setting() setting {
	return setting{random: t.random, caster: t.caster, layer: t.layer, device: t.device}
}

func (t *Tape) restore(s setting) {
	t.random, t.caster, t.layer, t.device = s.random, s.caster, s.layer, s.device
}

// Checkpoint runs f on the inputs and saves only the inputs; the backward pass
// runs f again. Inputs that are kept anyway take no further memory. f must
// compute the same from the same inputs, and use no values except its inputs and
// variables. Checkpoints nest.
func (t *Tape) Checkpoint(f func(in []*Value) *Value, in ...*Value) *Value {
	return t.SelectiveCheckpoint(nil, f, in...)
}

// SelectiveCheckpoint is Checkpoint, but it also keeps the results of the
// operations that rule names, so that the second run does not compute them. A nil
// rule keeps nothing. Checkpoints within a selective checkpoint have no effect,
// because its rule decides.
func (t *Tape) SelectiveCheckpoint(rule Keep, f func(in []*Value) *Value, in ...*Value) *Value {
	if t.record == nil || t.keeper != nil {
		return t.Frame(func() *Value { return f(in) })
	}
	p := &checkpoint{f: f, before: t.setting()}
	if rule != nil {
		p.keeper = &keeper{rule: rule}
	}
	v := p.first(t, in)
	if slices.Contains(in, v) {
		v = t.own(v.data)
	}
	p.remember(t, v, in)
	return v
}

// checkpoint is one checkpointed run of a function.
type checkpoint struct {
	f      func(in []*Value) *Value
	before setting
	keeper *keeper // nil when not selective
	inputs int     // how many of the saved tensors are inputs
}

// first runs f without recording. It drops the weights that f converts, and the
// second run converts them again, so that only one function's converted weights
// are in memory at a time.
func (p *checkpoint) first(t *Tape, in []*Value) (v *Value) {
	outer, casts := t.keeper, len(t.made)
	defer func() { t.dropCasts(casts, nil) }()
	t.keeper = p.keeper
	done := false
	defer func() {
		t.keeper = outer
		if !done {
			p.keeper.release()
		}
	}()
	t.NoGrad(func() {
		v = t.Frame(func() *Value { return p.f(in) })
	})
	done = true
	return v
}

// remember records the run.
func (p *checkpoint) remember(t *Tape, v *Value, in []*Value) {
	n := &node{op: "checkpoint", layer: t.layer, device: t.device, in: make([]*slot, len(in)), rule: p.rule}
	list := make([]*tensor.Tensor, 0, len(in))
	for i, x := range in {
		n.in[i] = t.record.slotOf(x)
		list = append(list, x.data)
	}
	p.inputs = len(list)
	if p.keeper != nil {
		list = append(list, p.keeper.kept...)
	}
	n.saved = t.save(list)
	p.keeper.release()
	v.slot = &slot{like: v.data}
	n.out = v.slot
	t.record.add(n)
}

// rule runs f again, this time recording, and differentiates what it recorded.
func (p *checkpoint) rule(b *back) {
	t := b.Tape
	now, outer, r := t.setting(), t.keeper, newRecord()
	var in []*Value
	depth := t.openFrame()
	defer func() {
		t.restore(now)
		t.keeper, t.phase, t.record = outer, Backward, nil
		r.release()
		for _, x := range in {
			x.slot.release()
		}
		if len(t.frames) == depth {
			t.closeFrame(nil)
		}
	}()
	in = p.inner(b)
	out := p.second(b, r, in)
	if out.slot == nil {
		return
	}
	out.slot.add(t, b.dy)
	t.Done(out)
	t.differentiate(r)
	for i, x := range in {
		if b.wants(i) && x.slot.grad != nil {
			b.give(i, x.slot.grad)
		}
	}
}

// inner makes values of the saved inputs, with slots of their own.
func (p *checkpoint) inner(b *back) []*Value {
	in := make([]*Value, p.inputs)
	for i := range in {
		in[i] = b.own(b.saved(i))
		if b.wants(i) {
			in[i].slot = &slot{like: in[i].data}
		}
	}
	return in
}

// second runs f with the settings of the first run.
func (p *checkpoint) second(b *back, r *record, in []*Value) *Value {
	t := b.Tape
	t.restore(p.before)
	t.phase, t.record, t.keeper = Recompute, r, nil
	if p.keeper != nil {
		t.keeper = &keeper{rule: p.keeper.rule, again: true}
		for i := p.inputs; i < len(b.node.saved); i++ {
			t.keeper.kept = append(t.keeper.kept, b.saved(i))
		}
	}
	casts := len(t.made)
	out := t.Frame(func() *Value { return p.f(in) })
	t.dropCasts(casts, nil) // what is saved stays until its rule has run
	if slices.Contains(in, out) {
		return b.copyOf(out)
	}
	return out
}

// copyOf is a view of a value that shares its gradient, for functions that
// return what they were given.
func (b *back) copyOf(v *Value) *Value {
	out := b.own(v.data)
	out.slot = v.slot
	return out
}
