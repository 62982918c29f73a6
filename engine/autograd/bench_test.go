package autograd_test

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// BenchmarkOverhead measures the cost of one operation on one number, forward and
// backward: the engine's share of every operation, without the device's work.
func BenchmarkOverhead(b *testing.B) {
	d := tensortest.Device(b)
	w := autograd.NewVariable("w", tensor.Full(d, tensor.Shape{1}, device.Float32, 1, tensor.Tag{}))
	defer w.Close()
	tape := autograd.NewTape(d, 0)
	const operations = 1000
	b.ReportAllocs()
	for b.Loop() {
		tape.Run(func() {
			x := w.Value()
			for range operations {
				y := tape.GELU(x)
				if x != w.Value() {
					tape.Done(x)
				}
				x = y
			}
			tape.Backward(x)
		})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/operations, "ns/operation")
}
