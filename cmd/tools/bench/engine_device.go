package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cpu"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/tensor"
	probed "github.com/memtop/memtop/probe/engine"
)

// capacity is the memory of cpu:0, more than the largest run here needs.
const capacity = 8 << 30

// machine is a device to measure.
type machine interface {
	probed.Machine
	Close() error
}

// openDevice opens the device. about is its name, and that of the code that multiplies
// on it.
func openDevice(o *options) (m machine, about string, err error) {
	number, isGPU := strings.CutPrefix(o.device, "cuda:")
	if !isGPU {
		c, err := cpu.Open(cpu.Options{Capacity: capacity})
		if err != nil {
			return nil, "", err
		}
		return c, c.Name(), nil
	}
	ordinal, err := strconv.Atoi(number)
	if err != nil {
		return nil, "", fmt.Errorf("there is no device %q", o.device)
	}
	d, err := cuda.Open(cuda.Options{Ordinal: ordinal, OwnProducts: o.ownProducts, Notice: func(line string) { fmt.Fprintln(os.Stderr, line) }})
	if err != nil {
		return nil, "", err
	}
	if err := o.checkProducts(d); err != nil {
		return nil, "", errors.Join(err, d.Close())
	}
	info := d.Info()
	return d, fmt.Sprintf("%s, %d MiB, compute capability %d.%d, driver of CUDA %d.%d, products: %s", info.Name, info.Memory>>20,
		info.Major, info.Minor, info.Version/1000, info.Version%1000/10, d.Products()), nil
}

// gpu prints the name of a GPU and the code that multiplies on it.
func gpu(_ context.Context, o *options) error {
	m, about, err := openDevice(o)
	if err != nil {
		return err
	}
	defer m.Close() //nolint:errcheck // what there is to say was said
	fmt.Println(about)
	return nil
}

// checkProducts fails if the library is requested but does not multiply, so that
// the times of our kernels are not taken for the library's.
func (o *options) checkProducts(d interface{ Library() (string, error) }) error {
	if !o.library {
		return nil
	}
	_, err := d.Library()
	return err
}

// products returns rows for the sizes and types of products in training.
func products(d *tensor.Device) (rows [][]string) {
	types := []device.DType{device.Float32}
	sizes := []int{1024, 2048}
	if d.Name() != "cpu:0" {
		types, sizes = append(types, device.BFloat16), append(sizes, 4096, 8192)
	}
	for _, t := range types {
		for _, n := range sizes {
			rows = append(rows, []string{fmt.Sprintf("%s product, %d³", t, n), fmt.Sprintf("%.0f", rateOf(d, n, t))})
		}
	}
	return rows
}

// rateOf returns the rate of the best of several runs of products.
func rateOf(d *tensor.Device, n int, t device.DType) float64 {
	var list [3]*tensor.Tensor
	for i := range list {
		list[i] = noise(d, n, t)
		defer list[i].Release()
	}
	m := device.MatMul{C: list[0].Array(), A: list[1].Array(), B: list[2].Array(), M: n, N: n, K: n}.Plan()
	best, each := time.Duration(1<<62), 1
	if d.Name() != "cpu:0" {
		each = 10 // so that waiting for the device is a small part
	}
	for range 10 {
		best = min(best, timed(d, func() {
			for range each {
				d.Backend().MatMul(m)
			}
		}))
	}
	return 2 * float64(n) * float64(n) * float64(n) * float64(each) / best.Seconds() / 1e9
}

// noise returns a matrix of random numbers: a product of equal numbers takes less
// power, and a GPU then runs at a higher clock than it does in training.
func noise(d *tensor.Device, n int, t device.DType) *tensor.Tensor {
	m := tensor.New(d, tensor.Shape{n, n}, t, tensor.Tag{})
	d.Backend().Normal(m.Array(), 0, 1, device.Seed{Seed: 1})
	return m
}

// timed returns how long the device works on the operations that f queues.
func timed(d *tensor.Device, f func()) time.Duration {
	_ = d.Backend().Synchronize() // the next step returns a failure
	start := time.Now()
	f()
	_ = d.Backend().Synchronize()
	return time.Since(start)
}

// smallOperation returns a row with the host's time to queue a minimal operation.
func smallOperation(d *tensor.Device) []string {
	const n = 20_000
	x := tensor.Full(d, tensor.Shape{1}, device.Float32, 1, tensor.Tag{})
	defer x.Release()
	took := timed(d, func() {
		for range n {
			d.Backend().Fill(x.Array(), 2)
		}
	})
	return []string{"small operation", "", fmt.Sprintf("%.0f ns", float64(took.Nanoseconds())/n)}
}
