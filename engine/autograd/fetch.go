package autograd

import (
	"slices"

	"github.com/memtop/memtop/engine/tensor"
)

// # Operands on the host
//
// A variable may live on the device's host. An operation that reads it, or a
// rule that does, gets a copy, which is kept for further use until
// [Tape.DropFetched], at the end of the module. What saves such a copy saves the
// original.

// fetched is a copy of a tensor of the host.
type fetched struct {
	source *tensor.Tensor // of the variable, or of its converted copy
	copy   *tensor.Tensor
	used   bool // else it came ahead of its use
}

// local returns the value for the tape's device, itself if it is there.
func (t *Tape) local(v *Value) *Value {
	if v.data.Device() == t.device {
		return v
	}
	if v.variable != nil {
		t.follow(castKey{v.variable, v.DType()})
	}
	return &Value{data: t.use(v.data), slot: v.slot, variable: v.variable}
}

// use returns the copy of a tensor of the host. It is no new handle.
func (t *Tape) use(x *tensor.Tensor) *tensor.Tensor {
	f := t.fetch(x)
	f.used = true
	return f.copy
}

// fetch begins to copy a tensor of the host, unless that has begun.
func (t *Tape) fetch(x *tensor.Tensor) *fetched {
	for _, f := range t.fetched {
		if f.source.Storage() == x.Storage() {
			return f
		}
	}
	f := &fetched{source: x.Retain(), copy: x.To(t.device)}
	t.fetched = append(t.fetched, f)
	return f
}

// order is what a run fetches, in order, beside what the run before it had fetched.
// Forward passes go through a model in one order, and recomputations in another. A
// tensor may be in it several times, as one that layers share is.
type order struct {
	before, now []castKey
	at          int // in before: what comes next
}

// begin is for the start of a run.
func (o *order) begin() { o.before, o.now, o.at = o.now, o.before[:0], 0 }

// follow notes that a key is fetched, and returns the one that came after it the
// last time, if there is one.
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

// follow notes that a variable's tensor of a type is fetched now, and begins to
// fetch the one that came after it the last time, so that it is on its way while
// this one is computed with. In the backward pass fetchNext does that.
func (t *Tape) follow(key castKey) {
	if t.phase == Backward {
		return
	}
	if next, known := t.orders[t.phase].follow(key); known && next.variable.Data().Device() != t.device {
		t.fetch(key.tensor(t))
		t.fetch(next.tensor(t))
	}
}

// tensor returns the variable's tensor in the type, where it lives.
func (k castKey) tensor(t *Tape) *tensor.Tensor {
	if k.dtype == k.variable.Data().DType() {
		return k.variable.Data()
	}
	return t.castOf(k)
}

// original returns what x is a view of a copy of, nil if it is none.
func (t *Tape) original(x *tensor.Tensor) *tensor.Tensor {
	for _, f := range t.fetched {
		if f.copy.Storage() == x.Storage() {
			return f.source
		}
	}
	return nil
}

// DropFetched releases the copies of what lives on the host that were used. It
// is for the end of a module, in the forward and in the backward pass; what is
// needed again is fetched again.
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
