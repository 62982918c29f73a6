package tensor_test

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// BenchmarkShortLife measures a tensor that is made and released within a step,
// with and without a watcher for lost tensors, and one that is alive when a step
// ends.
func BenchmarkShortLife(b *testing.B) {
	for name, test := range map[string]struct{ watched, settled bool }{
		"not watched": {}, "watched": {watched: true}, "watched, alive at the end": {true, true},
	} {
		b.Run(name, func(b *testing.B) {
			d := tensortest.Device(b)
			if test.watched {
				d.OnLeak(func(tensor.Leak) {})
			}
			b.ReportAllocs()
			for b.Loop() {
				x := tensor.New(d, tensor.Shape{16, 16}, device.Float32, tensor.Tag{Role: "scratch"})
				if test.settled {
					d.Settle()
				}
				x.Release()
			}
		})
	}
}
