package autograd

import (
	"slices"

	"github.com/memtop/memtop/engine/tensor"
)

// # Variables elsewhere
//
// A variable may live on the device's host, and an operation on the host may read
// one of the device. An operation or a rule that reads it gets a copy. The tape
// keeps the copy for further use until [Tape.DropFetched], at the end of the
// module. A rule that saves such a copy saves the original instead.

// fetched is a copy of a tensor of the other device.
type fetched struct {
	source *tensor.Tensor // of the variable, or of its converted copy
	copy   *tensor.Tensor
	used   bool // false: it was fetched ahead of its use
}

// local returns the value where operations compute, itself if it is there.
func (t *Tape) local(v *Value) *Value {
	if v.data.Device() == t.device {
		return v
	}
	if !v.weights() {
		return t.Here(v)
	}
	if v.variable != nil {
		t.follow(castKey{v.variable, v.DType()})
	}
	return &Value{data: t.use(v.data, t.device), slot: v.slot, variable: v.variable}
}

// use returns the copy of a tensor on a device. The result is not a new handle.
func (t *Tape) use(x *tensor.Tensor, on *tensor.Device) *tensor.Tensor {
	f := t.fetch(x, on)
	f.used = true
	return f.copy
}

// fetch begins to copy a tensor to a device, unless that has begun.
func (t *Tape) fetch(x *tensor.Tensor, to *tensor.Device) *fetched {
	for _, f := range t.fetched {
		if f.source.Storage() == x.Storage() && f.copy.Device() == to {
			return f
		}
	}
	f := &fetched{source: x.Retain(), copy: x.To(to)}
	t.fetched = append(t.fetched, f)
	return f
}

// order lists the tensors that the present run fetches and those that the
// previous run fetched, in order. Forward passes and recomputations go through a
// model in different orders. A tensor may be in a list several times, for example
// if layers share it.
type order struct {
	before, now []castKey
	at          int // in before: what comes next
}

// begin is for the start of a run.
func (o *order) begin() { o.before, o.now, o.at = o.now, o.before[:0], 0 }

// follow notes that a key is fetched. It returns the key that came next in the
// previous run, if there is one.
func (o *order) follow(key castKey) (next castKey, known bool) {
	if n := len(o.now); n > 0 && o.now[n-1] == key {
		return next, false
	}
	o.now = append(o.now, key)
	i := slices.Index(o.before[o.at:], key)
	if i < 0 {
		return next, false
	}
	if o.at += i + 1; o.at == len(o.before) {
		return next, false
	}
	return o.before[o.at], true
}

// follow notes that a variable's tensor of a type is fetched now. It begins to
// fetch the tensor that came next in the previous run, so that the copy runs
// while the device computes with this tensor. In the backward pass fetchNext does
// that.
func (t *Tape) follow(key castKey) {
	if t.phase == Backward || t.device != t.home {
		return
	}
	if next, known := t.orders[t.phase].follow(key); known && next.variable.Data().Device() != t.home {
		t.fetch(key.tensor(t), t.home)
		t.fetch(next.tensor(t), t.home)
	}
}

// tensor returns the variable's tensor in the type, where it lives.
func (k castKey) tensor(t *Tape) *tensor.Tensor {
	if k.dtype == k.variable.Data().DType() {
		return k.variable.Data()
	}
	return t.castOf(k)
}

// original returns the host's tensor if x is a view of its copy, else nil.
func (t *Tape) original(x *tensor.Tensor) *tensor.Tensor {
	for _, f := range t.fetched {
		if f.copy.Storage() == x.Storage() {
			return f.source
		}
	}
	return nil
}

// DropFetched releases the copies of variables that were used. Call it
// at the end of a module, in the forward and in the backward pass. A tensor that
// is needed again is fetched again.
func (t *Tape) DropFetched() { t.dropFetched(false) }

func (t *Tape) dropFetched(all bool) {
	t.fetched = slices.DeleteFunc(t.fetched, func(f *fetched) bool {
		if !all && !f.used {
			return false
		}
		f.source.Release()
		f.copy.Release()
		return true
	})
}
