package autograd

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/tensor"
)

// Embedding returns the rows of table, [Rows, Cols], that ids names. The result
// has the shape of ids, Int32 or Int64, with Cols appended. The gradient is added
// to the gradients from other uses of the table, such as a head that shares it,
// and takes no second tensor of the table's size. An id outside of the table is a
// failure of the device, which its next download reports. Rows are looked up where
// the table is, unless they are more than the table.
func (t *Tape) Embedding(table, ids *Value) *Value {
	if len(table.Shape()) != 2 || ids.DType().IsFloat() {
		panic(fmt.Sprintf("autograd: embedding of %v by %v", table, ids))
	}
	rows, cols := table.Shape()[0], table.Shape()[1]
	if d, here := table.data.Device(), t.device; d != here && d.Group() == nil && ids.Size() < rows {
		t.SetDevice(d)
		found := t.Embedding(table, ids)
		t.SetDevice(here)
		defer t.Done(found)
		return t.Here(found)
	}
	c := t.begin("embedding", table, ids)
	defer c.end()
	c.contiguous(0, 1)
	table, ids = c.in[0], c.in[1]
	y := c.out(slices.Concat(ids.Shape(), tensor.Shape{cols}), table.DType())
	c.run(func() { t.backend().Gather(y.Array(), table.data.Array(), ids.data.Array(), rows, cols) })
	return c.value(y, []*tensor.Tensor{ids.data}, func(b *back) { b.scatter(rows, cols) })
}

// scatter is the rule of a lookup. It adds to the table's gradient where that is,
// because the rows are less than the table.
func (b *back) scatter(rows, cols int) {
	if !b.wants(0) {
		return
	}
	ids := b.saved(0)
	defer b.SetDevice(b.SetDevice(b.gathers(0)))
	ids, dy := b.hold(ids.To(b.device)), b.hold(b.dy.To(b.device))
	d, fresh := b.sum(0)
	if fresh {
		d.Fill(0)
	}
	b.backend().ScatterAdd(d.Array(), dy.Array(), ids.Array(), rows, cols)
	if fresh {
		b.give(0, d)
	}
}
