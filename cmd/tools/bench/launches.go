package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
	"github.com/memtop/memtop/engine/device/dry"
	"github.com/memtop/memtop/engine/tensor"
)

// counted imitates a GPU: its operations become the same launches as on a real
// GPU, but it counts the launches and does not run them. A product is a launch of
// our kernels, while a GPU with cuBLASLt calls the library.
type counted struct {
	device.Transfers
	*kernels.Compute
	meter *Meter
	list  map[kernels.Kernel]*launched
}

// launched sums up the launches of one kernel.
type launched struct {
	kernel kernels.Kernel
	times  int
	moved  float64 // bytes, of the operation that the launch begins
}

// Enqueue implements kernels.Queue.
func (c *counted) Enqueue(l *kernels.Launch) {
	of := c.list[l.Kernel]
	if of == nil {
		of = &launched{kernel: l.Kernel}
		c.list[l.Kernel] = of
	}
	of.times++
	for op, times := range c.meter.Take() {
		of.moved += float64(op.Bytes) * float64(times)
	}
}

// MatMul implements device.MatMuls. If a product's kernel does not also make the
// sums of its operand, the sums are a separate reduction.
func (c *counted) MatMul(m device.MatMulPlan) {
	before := c.times(kernels.ReduceColumns)
	c.Compute.MatMul(m)
	if c.times(kernels.ReduceColumns) > before {
		c.list[kernels.ReduceColumns].moved += float64(m.A.Buffer().Bytes + m.SumA.Buffer().Bytes)
	}
}

// times returns how often a kernel was launched.
func (c *counted) times(k kernels.Kernel) int {
	if of := c.list[k]; of != nil {
		return of.times
	}
	return 0
}

// launches counts the launches of one step of engine's model on a GPU, and the
// bytes that they read and write, without products and attention. It needs no
// GPU.
func launches(ctx context.Context, o *options) error {
	_, err := countLaunches(ctx, o, os.Stdout)
	return err
}

func countLaunches(ctx context.Context, o *options, out io.Writer) (all launched, err error) {
	settings, err := o.settings(true)
	if err != nil {
		return all, err
	}
	a, err := alloc.New(dry.NewMemory(0), alloc.Options{})
	if err != nil {
		return all, err
	}
	c := &counted{Transfers: dry.Backend{}, list: make(map[kernels.Kernel]*launched)}
	c.Compute = kernels.NewCompute(c, device.Buffer{Addr: 1 << 20, Bytes: kernels.ScratchBytes}, 1<<16)
	c.meter = MeterOf(c)
	t, free, err := newTrainer(tensor.NewDevice("cuda:0", a, c.meter, tensor.Options{}), o, settings)
	if err != nil {
		return all, err
	}
	defer free()
	for range uncounted {
		clear(c.list)
		if _, err := t.Step(ctx); err != nil {
			return all, err
		}
	}
	return c.print(out), nil
}

// print prints the kernels, those with the most bytes first, and returns their sum.
func (c *counted) print(out io.Writer) (all launched) {
	list := slices.SortedFunc(maps.Values(c.list), func(a, b *launched) int {
		return cmp.Or(cmp.Compare(b.moved, a.moved), cmp.Compare(b.times, a.times), cmp.Compare(a.kernel, b.kernel))
	})
	t := newTable(out, "kernel", "launches", "GB moved")
	row := func(name string, l *launched) { t.row(name, strconv.Itoa(l.times), fmt.Sprintf("%.3f", l.moved/1e9)) }
	for _, l := range list {
		row(l.kernel.String(), l)
		all.times += l.times
		all.moved += l.moved
	}
	row("a step, but for products and attention", &all)
	return all
}
