package optim

import (
	"slices"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Optimizer updates the parameters of a model. It belongs to the goroutine of the
// device. The caller of New closes it.
type Optimizer struct {
	settings Settings
	slots    []*slot
	steps    int64
	// overflow says whether the last step was skipped; nil when that has been
	// counted.
	overflow *tensor.Pending
	list     []device.Parameter // of an update; reused for the next
}

// Place chooses the device of a parameter's state, which also computes its steps. It
// is the device that the parameter is on, or that device's host.
type Place func(*autograd.Variable) *tensor.Device

// New returns an optimizer for the parameters, with its state allocated. It fails,
// as tensors do, when there is no memory; what it had allocated is released before
// that.
func New(place Place, parameters []*autograd.Variable, s Settings) *Optimizer {
	o := &Optimizer{settings: s}
	done := false
	defer func() {
		if !done {
			o.Close()
		}
	}()
	for _, v := range parameters {
		p := &slot{variable: v, device: place(v)}
		o.slots = append(o.slots, p)
		p.settleMaster(&o.settings)
		p.allocate(&o.settings)
	}
	done = true
	return o
}

// Close releases the state.
func (o *Optimizer) Close() {
	for _, p := range o.slots {
		p.release()
	}
	o.slots = nil
}

// Settings returns the current settings.
func (o *Optimizer) Settings() Settings { return o.settings }

// Steps returns the number of steps that changed parameters since the state was
// new. It may wait for the last one.
func (o *Optimizer) Steps() int64 {
	o.settle()
	return o.steps
}

// Change makes it another optimizer from the next step on. It keeps state that
// means the same in both (Adam and AdamW differ only in how they use it);
// otherwise it first releases the old state, and new state begins at zero. If
// there is no memory for that it fails, and remains the old optimizer with new
// state.
func (o *Optimizer) Change(s Settings) {
	o.settle()
	before := o.settings
	o.settings = s
	if o.sameState(&before, &s) {
		return
	}
	done := false
	defer func() {
		if !done {
			o.settings = before
			o.renew()
		}
	}()
	o.renew()
	done = true
}

// renew replaces the state by that of an optimizer that has taken no step.
func (o *Optimizer) renew() {
	o.steps = 0
	for _, p := range o.slots {
		p.releaseMoments()
	}
	for _, p := range o.slots {
		p.settleMaster(&o.settings)
		p.allocate(&o.settings)
	}
}

// Move brings state to other devices, where later steps use it. It fails, and
// changes nothing, when there is no memory.
func (o *Optimizer) Move(place Place) {
	var slots []*slot
	for _, p := range o.slots {
		if place(p.variable) != p.device {
			slots = append(slots, p)
		}
	}
	moved := make([]kept, 0, len(slots))
	defer func() {
		for i := range moved { // releases the copies, or else the originals
			moved[i].release()
		}
	}()
	for _, p := range slots {
		moved = append(moved, kept{})
		p.copyTo(place(p.variable), &moved[len(moved)-1])
	}
	for i, p := range slots {
		p.kept, moved[i] = moved[i], p.kept
		p.device = place(p.variable)
	}
}

// sameState reports whether both keep the same state of every parameter.
func (o *Optimizer) sameState(a, b *Settings) bool {
	low := slices.ContainsFunc(o.slots, func(p *slot) bool { return isLow(p.variable.Data()) })
	return a.layout(min8bit) == b.layout(min8bit) && (a.NoMainCopies == b.NoMainCopies || !low)
}

// State returns what the optimizer keeps, in an order that depends only on the
// parameters and the settings.
func (o *Optimizer) State() []State {
	o.settle()
	var list []State
	for _, p := range o.slots {
		list = append(list, p.state()...)
	}
	return list
}

// Restore says that the caller has filled the tensors of State with those of an
// optimizer that had taken that many steps.
func (o *Optimizer) Restore(steps int64) {
	o.settle()
	o.steps = steps
	for _, p := range o.slots {
		p.used = steps > 0
	}
}

// Overflow reports whether a step's gradients overflowed. A loss scaler
// implements it.
type Overflow interface {
	// FoundInf is one float32 element, 0 unless a gradient overflowed.
	FoundInf() *tensor.Tensor
	// Overflowed reads that element without waiting for it.
	Overflowed() *tensor.Pending
}

// Renews reports whether Step also writes a parameter's half-precision copy. It
// does so when the parameter and its gradient are both on the optimizer's device,
// and the parameter is not itself in half precision.
func (o *Optimizer) Renews(v *autograd.Variable) bool {
	i := slices.IndexFunc(o.slots, func(p *slot) bool { return p.variable == v })
	return i >= 0 && !isLow(v.Data()) && o.slots[i].near()
}

// Step changes every parameter that has a gradient. Gradients are only read. over
// may be nil; else the device checks it, and changes nothing when the gradients
// have overflowed. Step does not wait for that result; applied does. clip and
// copies, a tape that keeps parameters in half precision, may be nil; Step writes
// the tape's copies with the parameters.
func (o *Optimizer) Step(lr float64, over Overflow, clip *Clipping, copies *autograd.Tape) (applied func() bool) {
	o.settle()
	devices := o.devices()
	constants := make([]constant, len(devices))
	for i, d := range devices { // before the first update: a copy to the host would wait for it
		constants[i] = o.constant(d.Whole(), over, clip)
	}
	for i, d := range devices {
		o.stepOn(d, lr, &constants[i], clip, copies)
	}
	if over == nil {
		o.count()
		return func() bool { return true }
	}
	overflow := over.Overflowed()
	o.overflow = overflow
	return func() bool { return overflow.Wait() == 0 }
}

// devices returns those of the state, hosts last: their work then runs beside that
// of the others.
func (o *Optimizer) devices() (list []*tensor.Device) {
	for _, p := range o.slots {
		switch {
		case slices.Contains(list, p.device):
		case p.device.IsHost():
			list = append(list, p.device)
		default:
			list = slices.Insert(list, 0, p.device)
		}
	}
	return list
}

// constant is what all updates on a device read, there or on the way there: the number
// of the step, whether gradients overflowed, and their norm. The latter two may be nil.
type constant struct{ step, found, norm *tensor.Tensor }

func (o *Optimizer) constant(d *tensor.Device, over Overflow, clip *Clipping) (c constant) {
	// The host keeps the count and sends it to the device for each call, so that the
	// state on the device is only per element.
	c.step = tensor.Full(d, tensor.Shape{1}, device.Float32, float64(o.steps), tensor.Tag{Category: trace.Workspace, Role: "step"})
	if over != nil {
		c.found = over.FoundInf().To(d)
	}
	if clip != nil {
		c.norm = clip.norm.To(d)
	}
	return c
}

func (c *constant) release() {
	c.step.Release()
	c.found.Release()
	c.norm.Release()
}

// stepOn is the step of the parameters whose state is on one device.
func (o *Optimizer) stepOn(at *tensor.Device, lr float64, c *constant, clip *Clipping, copies *autograd.Tape) {
	defer c.release()
	u := o.settings.constants()
	u.LR, u.Step = lr, c.step.Array()
	if c.found != nil {
		u.FoundInf = c.found.Array()
	}
	if c.norm != nil {
		u.Norm, u.Limit = c.norm.Array(), clip.limit
	}
	at.Backend().AdvanceStep(u.Step, u.FoundInf)
	o.update(at, u, copies)
}

// settle counts the last step, once: by the time of the next one the
// device knows, or nearly, whether it was skipped.
func (o *Optimizer) settle() {
	overflow := o.overflow
	o.overflow = nil
	if overflow != nil && overflow.Wait() == 0 {
		o.count()
	}
}

// count counts a step that changed parameters.
func (o *Optimizer) count() {
	o.steps++
	for _, p := range o.slots {
		p.used = p.used || p.changed
	}
}
