package autograd

import (
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Caster chooses the type in which operations compute: automatic mixed precision.
type Caster interface {
	// Cast returns the type that the floating-point operands of op are
	// converted to, given the types they have, or false to leave them alone.
	Cast(op string, operands []device.DType) (device.DType, bool)
}

// castRole is the role of weights in another type. They count as workspace even
// when a rule saves them, because the cache keeps them and not the graph.
const castRole = "autocast weight"

type castKey struct {
	variable *Variable
	dtype    device.DType
}

// cast is a copy of a variable's tensor in another type, where the variable
// lives. It is valid until the variable's tensor is written to.
type cast struct {
	data    *tensor.Tensor
	source  *tensor.Storage
	version int
	pad     int // the variable's
}

// current reports whether the variable is as it was when it was converted.
func (c *cast) current(key castKey) bool {
	now := key.variable.Data().Storage()
	return c.source == now && c.version == now.Version() && c.pad == key.variable.pad
}

// SetCaster sets the Caster and returns the previous one; nil casts nothing.
// Checkpoints recompute with the caster of their forward run.
func (t *Tape) SetCaster(c Caster) (before Caster) {
	before, t.caster = t.caster, c
	return before
}

// Caster returns the tape's Caster, or nil.
func (t *Tape) Caster() Caster { return t.caster }

// DropCasts releases the converted weights that were kept for further use. They
// are dropped at the end of a run in any case, see KeepCasts; dropping them
// between the forward and the backward pass leaves only those that are saved.
func (t *Tape) DropCasts() { t.dropCasts(0, nil) }

// dropCasts releases the casts made after the first n. It keeps a current cast if
// stay returns true for its variable; stay may be nil.
func (t *Tape) dropCasts(n int, stay func(*Variable) bool) {
	made := t.made[n:]
	t.made = t.made[:n]
	for _, key := range made {
		switch c := t.casts[key]; {
		case c == nil: // it comes twice
		case stay != nil && c.current(key) && c.data.Device() == t.home && stay(key.variable):
			t.made = append(t.made, key)
		default:
			c.data.Release()
			delete(t.casts, key)
		}
	}
}

// KeepCasts runs f, and keeps converted weights from one run of the tape within
// f to the next, so the micro-batches of a step convert each weight once. At the end
// a copy on the tape's device stays if renews returns true for its variable: then
// the code that changes the variable writes the copy too (see Renew), and the next
// step need not convert it. renews may be nil. KeepCasts drops all other copies,
// and all copies if f panics.
func (t *Tape) KeepCasts(renews func(*Variable) bool, f func()) {
	t.keepCasts++
	var stay func(*Variable) bool
	defer func() {
		if t.keepCasts--; t.keepCasts == 0 {
			t.dropCasts(0, stay)
		}
	}()
	f()
	stay = renews
}

// Renew counts a write to a variable's tensor, as [tensor.Storage.Wrote] does. It
// returns the tape's copy of the tensor in the type that the tape computes in,
// and the caller must write that copy too. The result is nil if the tape keeps no
// copy. The copy stays the tape's.
func (t *Tape) Renew(v *Variable) (copied *tensor.Tensor) {
	source := v.Data().Storage()
	for _, dtype := range []device.DType{device.BFloat16, device.Float16} {
		key := castKey{v, dtype}
		if c := t.casts[key]; c != nil && c.current(key) && copied == nil {
			copied = c.data
			copied.Storage().Wrote()
			defer func() { c.version = source.Version() }()
		}
	}
	source.Wrote()
	return copied
}

// Casts returns the bytes of the converted weights that the tape keeps.
func (t *Tape) Casts() (bytes int64) {
	for _, c := range t.casts {
		bytes += c.data.Storage().Bytes()
	}
	return bytes
}

// autocast converts the floating-point operands of an operation to the type that
// the caster chooses.
func (t *Tape) autocast(op string, in []*Value) {
	dtype, ok := t.castType(op, in)
	if !ok {
		return
	}
	for i, v := range in {
		if v.DType().IsFloat() && v.DType() != dtype {
			in[i] = t.Cast(v, dtype)
		}
	}
}

// castType returns the type to which the caster wants floating-point operands
// converted, or false.
func (t *Tape) castType(op string, in []*Value) (device.DType, bool) {
	if t.caster == nil || op == opCast {
		return 0, false
	}
	var types []device.DType
	for _, v := range in {
		if v.DType().IsFloat() {
			types = append(types, v.DType())
		}
	}
	return t.caster.Cast(op, types)
}

const opCast = "cast"

// Cast returns v in another floating-point type. The converted tensors of
// variables are kept and used again within the run, until the variable changes.
func (t *Tape) Cast(v *Value, dtype device.DType) *Value {
	if v.DType() == dtype {
		return v
	}
	if v.variable != nil {
		return t.castVariable(v, dtype)
	}
	c := t.begin(opCast, v)
	defer c.end()
	c.contiguous(0)
	v = c.in[0]
	y := c.out(v.Shape(), dtype)
	c.run(func() { t.backend().Cast(y.Array(), v.data.Array()) })
	return c.value(y, nil, castBack)
}

func castBack(b *back) {
	b.each(0, func(dx *tensor.Tensor) { b.backend().Cast(dx.Array(), b.dy.Array()) })
}

// castVariable converts a variable's tensor once. Operations that use the copy
// give their gradients in the variable's own type. A product can store that type
// at no cost; a gradient in the lower type would be rounded and then converted
// back.
func (t *Tape) castVariable(v *Value, dtype device.DType) *Value {
	key := castKey{v.variable, dtype}
	out := t.own(t.castOf(key))
	if out.data.Device() != t.device {
		t.follow(key)
	}
	if t.record != nil {
		out.slot = t.record.slotOf(v)
	}
	return out
}

func (t *Tape) castOf(key castKey) *tensor.Tensor {
	source := key.variable.Data().Storage()
	switch c := t.casts[key]; {
	case c == nil:
		t.made = append(t.made, key)
	case c.current(key):
		return c.data
	default:
		c.data.Release()
		delete(t.casts, key)
	}
	d := key.variable.Data().Device()
	data := newPadded(d, key.variable.Data().Shape(), key.variable.padded(), key.dtype,
		tensor.Tag{Category: trace.Workspace, Layer: source.Label().Layer, Role: castRole})
	t.casts[key] = &cast{data: data, source: source, version: source.Version(), pad: key.variable.pad}
	d.Backend().Cast(data.Array(), key.variable.Data().Array())
	return data
}
