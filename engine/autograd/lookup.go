package autograd

import (
	"fmt"
	"slices"

	"memtop/engine/device"
	"memtop/engine/tensor"
	"memtop/snapshots/trace"
)

// Embedding returns the rows of table, [Rows, Cols], that ids names: the shape
// of ids, Int32 or Int64, with Cols appended. Its gradient is added to what other
// uses of the table gave, such as a head that shares it, without a second one of
// the table's size. An id outside of the table is a
// failure of the device, which its next download reports. Of a table on the host
// only the rows are fetched, where they are less than the table.
func (t *Tape) Embedding(table, ids *Value) *Value {
	if len(table.Shape()) != 2 || ids.DType().IsFloat() {
		panic(fmt.Sprintf("autograd: embedding of %v by %v", table, ids))
	}
	rows, cols := table.Shape()[0], table.Shape()[1]
	if table.data.Device() == t.device || ids.Size() >= rows {
		table = t.Contiguous(t.local(table))
	}
	c := t.begin("embedding", ids)
	defer c.end()
	c.contiguous(0)
	ids, c.in = c.in[0], []*Value{table, c.in[0]}
	y := c.out(slices.Concat(ids.Shape(), tensor.Shape{cols}), table.DType())
	c.run(func() { gather(y, table.data, ids.data) })
	return c.value(y, []*tensor.Tensor{ids.data}, func(b *back) {
		d, fresh := b.sum(0)
		if fresh {
			d.Fill(0)
		}
		b.backend().ScatterAdd(d.Array(), b.dy.Array(), b.saved(0).Array(), rows, cols)
		if fresh {
			b.give(0, d)
		}
	})
}

// gather looks rows up where the table is.
func gather(y, table, ids *tensor.Tensor) {
	rows, cols, d := table.Shape()[0], table.Shape()[1], table.Device()
	if y.Device() == d {
		d.Backend().Gather(y.Array(), table.Array(), ids.Array(), rows, cols)
		return
	}
	near := ids.To(d)
	defer near.Release()
	found := tensor.New(d, y.Shape(), y.DType(), tensor.Tag{Category: trace.Workspace, Role: "rows for the device"})
	defer found.Release()
	d.Backend().Gather(found.Array(), table.Array(), near.Array(), rows, cols)
	d.Synchronize()
	y.CopyFrom(found)
}

// IgnoreIndex is the target that counts for nothing, as in PyTorch.
const IgnoreIndex = -100

// CrossEntropy returns the mean of −ln softmax(logits)[target] over the rows
// whose target is not IgnoreIndex: logits are [..., Classes], targets, Int32 or
// Int64, have the leading dimensions. It is float32 (float64 when the logits
// are) and saves the logits and one number per row.
func (t *Tape) CrossEntropy(logits, targets *Value) *Value {
	atLeast("cross_entropy", logits, 1)
	lead := logits.Shape()[:len(logits.Shape())-1]
	if !targets.Shape().Equal(lead) || targets.DType().IsFloat() {
		panic(fmt.Sprintf("autograd: cross_entropy of %v with targets %v", logits, targets))
	}
	c := t.begin("cross_entropy", logits, targets)
	defer c.end()
	c.contiguous(0, 1)
	logits, targets = c.in[0], c.in[1]
	wide := statistics(logits.DType())
	loss := c.out(nil, wide)
	lse := c.result(tensor.Shape{lead.Size()}, wide, "log sum exp")
	count := c.result(nil, wide, "targets counted")
	shape := device.CrossEntropy{Rows: lead.Size(), Classes: logits.Shape().Last(), IgnoreIndex: IgnoreIndex}
	list := []*tensor.Tensor{logits.data, targets.data, lse, count}
	c.run(func() {
		e := lossOn(shape, list)
		e.Loss = loss.Array()
		t.backend().CrossEntropy(e)
	})
	return c.value(loss, list, func(b *back) {
		b.each(0, func(dx *tensor.Tensor) {
			e := lossOn(shape, []*tensor.Tensor{b.saved(0), b.saved(1), b.saved(2), b.saved(3)})
			e.Loss = b.dy.Array() // not read, but a device looks at its type
			b.backend().CrossEntropyBackward(dx.Array(), e, b.dy.Array())
		})
	})
}

func lossOn(e device.CrossEntropy, list []*tensor.Tensor) device.CrossEntropy {
	e.Logits, e.Targets = list[0].Array(), list[1].Array()
	e.LSE, e.Count = list[2].Array(), list[3].Array()
	return e
}
