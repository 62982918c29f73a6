package optim

import (
	"math/rand/v2"
	"testing"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
)

// TestTheNormDoesNotDependOnTheDevices moves every gradient in turn to the host and
// back.
func TestTheNormDoesNotDependOnTheDevices(t *testing.T) {
	d, r := tensortest.Device(t), rand.New(rand.NewPCG(1, 2))
	var list []*autograd.Variable
	for _, n := range []int{70_001, 3, 40_000, 1, 999, 20_000} {
		v := parameter(t, d, "w", device.Float32, random(r, n, 1))
		give(d, v, random(r, n, 0.1))
		list = append(list, v)
	}
	norm := func() float64 {
		c := Clip(d, list, 1)
		defer c.Release()
		return c.norm.Fetch().Wait()
	}
	want := norm()
	for moves := 1; moves < 1<<len(list); moves++ {
		for i, v := range list {
			at := d
			if moves>>i&1 == 1 {
				at = d.Host()
			}
			v.ReplaceGrad(v.Grad().To(at))
		}
		d.Land()
		if got := norm(); got != want {
			t.Errorf("gradients %06b on the host: norm %v, want %v", moves, got, want)
		}
	}
}
