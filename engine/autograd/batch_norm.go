package autograd

import (
	"fmt"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// BatchNormOptions say how channels are normalised. Mean and Variance are running
// statistics, [Channels], on the tape's device.
type BatchNormOptions struct {
	Eps            float64
	Mean, Variance *Variable
	// Momentum is the part of the running statistics that a batch replaces by its
	// own statistics.
	Momentum float64
	// Evaluate normalises by the running statistics, and does not change them.
	Evaluate bool
}

// BatchNorm normalises every channel of x, [Batch, Channels, ...], to mean 0 and
// variance 1 over all other dimensions, then multiplies by w and adds b, both
// [Channels]. It saves x and two numbers per channel. A batch replaces a part of
// the running variance by the batch's unbiased variance, as in PyTorch. If a
// checkpoint computes the operation again, the batch still counts once.
func (t *Tape) BatchNorm(x, w, b *Value, o BatchNormOptions) *Value {
	atLeast("batch_norm", x, 2)
	c := t.begin("batch_norm", x, w, b)
	defer c.end()
	c.contiguous(0)
	n := t.channelsOf(c.in, &o)
	y := c.out(n.x.Shape(), n.x.DType())
	n.mean = c.result(tensor.Shape{n.channels}, n.wide, "mean")
	n.rstd = c.result(tensor.Shape{n.channels}, n.wide, "rstd")
	c.run(func() {
		if o.Evaluate {
			n.backend().Cast(n.mean.Array(), o.Mean.Data().Array())
			n.reciprocal(o.Variance.Data(), o.Eps)
		} else {
			n.measure(y, &o)
		}
		n.apply(y, c.in[1].data, c.in[2].data)
	})
	return c.value(y, []*tensor.Tensor{n.x, c.in[1].data, n.mean, n.rstd}, func(b *back) { b.batchNorm(n.batch, n.channels, n.inner, o.Evaluate) })
}

// channels are the numbers of a batch as [batch, channels, inner].
type channels struct {
	*Tape
	x, mean, rstd          *tensor.Tensor
	batch, channels, inner int
	wide                   device.DType // of statistics
}

func (t *Tape) channelsOf(in []*Value, o *BatchNormOptions) channels {
	x := in[0].data
	n := channels{Tape: t, x: x, batch: x.Shape()[0], channels: x.Shape()[1], inner: x.Shape()[2:].Size(), wide: statistics(x.DType())}
	for _, s := range []tensor.Shape{in[1].Shape(), in[2].Shape(), o.Mean.Data().Shape(), o.Variance.Data().Shape()} {
		if !s.Equal(tensor.Shape{n.channels}) {
			panic(fmt.Sprintf("autograd: batch_norm of shape %v by %v", x.Shape(), s))
		}
	}
	if !o.Evaluate && n.batch*n.inner < 2 {
		panic(fmt.Sprintf("autograd: batch_norm of shape %v, which has one number in a channel", x.Shape()))
	}
	return n
}

// numbers returns memory for numbers of the statistics' type.
func (n *channels) numbers(shape ...int) *tensor.Tensor {
	return n.temporary(shape, n.wide, "statistics")
}

// measure sets mean and rstd, and moves the running statistics. It first
// normalises each sample of a channel as a row, and y gets the result. The
// channel's variance is the mean of the samples' variances plus the mean of the
// squares by which their means differ from the channel's.
func (n *channels) measure(y *tensor.Tensor, o *BatchNormOptions) {
	d, all := n.backend(), n.batch*n.channels
	means, spread := n.numbers(all), n.numbers(all)
	rows := device.Norm{Rows: all, Cols: n.inner, X: n.x.Array(), Y: y.Array(), Mean: means.Array(), RStd: spread.Array()}
	d.Normalize(rows.Plan())
	d.Reduce(device.Mean, n.mean.Array(), means.Array(), 1, n.batch, n.channels)
	d.Binary(device.Sub, means.Array(), means.Array(), n.mean.Array())
	d.Unary(device.Square, means.Array(), means.Array())
	for _, f := range []device.UnaryOp{device.Square, device.Rsqrt, device.Square} { // 1/rstd²
		d.Unary(f, spread.Array(), spread.Array())
	}
	d.AddScaled(spread.Array(), spread.Array(), means.Array(), 1)
	variance := n.numbers(n.channels)
	d.Reduce(device.Mean, variance.Array(), spread.Array(), 1, n.batch, n.channels)
	n.reciprocal(variance, o.Eps)
	if n.phase == Recompute {
		return
	}
	count := float64(n.batch * n.inner)
	n.move(o.Mean.Data(), n.mean, o.Momentum, 1)
	n.move(o.Variance.Data(), variance, o.Momentum, count/(count-1))
}

// move replaces a part of a running statistic by a factor times another
// statistic.
func (n *channels) move(running, by *tensor.Tensor, part, factor float64) {
	running.Storage().Wrote()
	n.backend().Scale(running.Array(), running.Array(), 1-part)
	n.backend().AddScaled(running.Array(), running.Array(), by.Array(), part*factor)
}

// reciprocal sets rstd to 1/√(variance + eps).
func (n *channels) reciprocal(variance *tensor.Tensor, eps float64) {
	least := n.numbers(1)
	least.Fill(eps)
	n.backend().Binary(device.Add, n.rstd.Array(), variance.Array(), least.Array())
	n.backend().Unary(device.Rsqrt, n.rstd.Array(), n.rstd.Array())
}

// apply sets y to (x − mean)·rstd·w + b.
func (n *channels) apply(y, w, b *tensor.Tensor) {
	factor := n.numbers(n.channels)
	n.backend().Binary(device.Mul, factor.Array(), n.rstd.Array(), w.Array())
	each := n.numbers(n.channels, n.inner)
	n.combine(device.Sub, y, n.x, each, n.mean)
	n.combine(device.Mul, y, y, each, factor)
	n.combine(device.Add, y, y, each, b)
}

// combine sets y to x op a number for each channel. each has room for one
// sample's numbers.
func (n *channels) combine(op device.BinaryOp, y, x, each, number *tensor.Tensor) {
	if number.DType() != n.wide {
		same := n.numbers(n.channels)
		n.backend().Cast(same.Array(), number.Array())
		number = same
	}
	each.CopyFrom(n.hold(n.hold(number.View(-1, 1)).Expand(each.Shape())))
	n.backend().Binary(op, y.Array(), x.Array(), each.Array())
}

// total sets sum to the sums of the channels of x.
func (n *channels) total(sum, x *tensor.Tensor) {
	rows := n.numbers(n.batch * n.channels)
	n.backend().Reduce(device.Sum, rows.Array(), x.Array(), rows.Size(), n.inner, 1)
	n.backend().Reduce(device.Sum, sum.Array(), rows.Array(), 1, n.batch, n.channels)
}

// batchNorm is the rule: with the sums over a channel of dy and of dy·(x − mean),
// dx = rstd·w·(dy − avg(dy) − (x − mean)·rstd²·avg(dy·(x − mean))), without the
// averages in evaluation.
func (b *back) batchNorm(batch, count, inner int, evaluate bool) {
	x, rstd := b.saved(0), b.saved(3)
	n := channels{Tape: b.Tape, x: x, mean: b.saved(2), rstd: rstd, batch: batch, channels: count, inner: inner, wide: rstd.DType()}
	d, dx, each := b.backend(), b.gradLike(x), n.numbers(count, inner)
	sum, product := n.numbers(count), n.numbers(count)
	n.total(sum, b.dy)
	n.combine(device.Sub, dx, x, each, n.mean)
	d.Binary(device.Mul, dx.Array(), dx.Array(), b.dy.Array())
	n.total(product, dx)
	d.Binary(device.Mul, product.Array(), product.Array(), rstd.Array()) // the gradient of w
	b.each(1, func(dw *tensor.Tensor) { d.Cast(dw.Array(), product.Array()) })
	b.each(2, func(db *tensor.Tensor) { d.Cast(db.Array(), sum.Array()) })
	if !b.wants(0) {
		return
	}
	if evaluate {
		d.Cast(dx.Array(), b.dy.Array())
	} else {
		part := -1 / float64(batch*inner)
		d.Scale(sum.Array(), sum.Array(), part)
		d.Binary(device.Mul, product.Array(), product.Array(), rstd.Array())
		d.Scale(product.Array(), product.Array(), part)
		n.combine(device.Sub, dx, x, each, n.mean)
		n.combine(device.Mul, dx, dx, each, product)
		d.AddScaled(dx.Array(), dx.Array(), b.dy.Array(), 1)
		n.combine(device.Add, dx, dx, each, sum)
	}
	d.Binary(device.Mul, sum.Array(), rstd.Array(), b.saved(1).Array())
	n.combine(device.Mul, dx, dx, each, sum)
	b.give(0, dx)
}
