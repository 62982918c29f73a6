package train

import (
	"slices"

	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// fit makes room on the device for batches of a kind. The room is nearly always
// there already; sequences that grow are the exception.
func (t *Trainer) fit(s data.Spec) {
	t.input = t.field(t.input, s.Input, "input")
	t.target = t.field(t.target, s.Target, "target")
	if old := t.spec.Load(); old == nil || !sameField(old.Input, s.Input) || !sameField(old.Target, s.Target) {
		t.spec.Store(&s)
	}
}

func sameField(a, b data.Field) bool { return a.DType == b.DType && slices.Equal(a.Shape, b.Shape) }

// field returns old if a batch's part of that kind fits in it exactly, else a new
// tensor in its place. If there is no memory for a new tensor, old stays.
func (t *Trainer) field(old *tensor.Tensor, f data.Field, role string) *tensor.Tensor {
	shape := append(tensor.Shape{t.config.Batch}, f.Shape...)
	if old != nil && old.DType() == f.DType && old.Shape().Equal(shape) {
		return old
	}
	fresh := tensor.New(t.config.Device, shape, f.DType, tensor.Tag{Category: trace.Input, Layer: "data", Role: role})
	old.Release()
	return fresh
}
