package autograd

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// Embedding returns the rows of table, [Rows, Cols], that ids names. The result
// has the shape of ids, Int32 or Int64, with Cols appended. The gradient is added
// to the gradients from other uses of the table, such as a head that shares it,
// and takes no second tensor of the table's size. An id outside of the table is a
// failure of the device, which its next download reports. If the table is on the
// host, only the rows are fetched, unless they are more than the table.
func (t *Tape) Embedding(table, ids *Value) *Value {
	if len(table.Shape()) != 2 || ids.DType().IsFloat() {
		panic(fmt.Sprintf("autograd: embedding of %v by %v", table, ids))
	}
	rows, cols := table.Shape()[0], table.Shape()[1]
	if d := table.data.Device(); d == t.device || d.Group() != nil || ids.Size() >= rows {
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

// OneHot returns 1 at the place of each class and 0 at the n−1 other places. The
// result has the shape of classes, Int32 or Int64, with n appended. No gradient
// flows through it. A class that is not below n is a failure of the device.
func (t *Tape) OneHot(classes *Value, n int, dtype device.DType) *Value {
	c := t.begin("one_hot", classes)
	defer c.end()
	c.contiguous(0)
	identity := make([]float32, n*n)
	for i := range n {
		identity[i*n+i] = 1
	}
	table := c.hold(tensor.From(t.device, identity, tensor.Shape{n, n}, dtype, t.Workspace("identity")))
	y := c.out(slices.Concat(classes.Shape(), tensor.Shape{n}), dtype)
	c.run(func() { gather(y, table, c.in[0].data) })
	return c.value(y, nil, nil)
}
