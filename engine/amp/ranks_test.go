package amp_test

import (
	"math"
	"sync"
	"testing"

	"github.com/memtop/memtop/cmd/testing/collectivetest"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/tensor"
)

// TestAnOverflowInOneRanksPartIsOneOfAll divides a gradient of which one rank's part
// is infinite: all ranks have to skip the step, or their parameters part.
func TestAnOverflowInOneRanksPartIsOneOfAll(t *testing.T) {
	const ranks = 3
	var all sync.WaitGroup
	for rank, member := range collectivetest.New(ranks) {
		d := tensortest.Device(t)
		all.Go(func() {
			value := 1.0
			if rank == 1 {
				value = math.Inf(1)
			}
			shape := tensor.Shape{7}
			v := autograd.NewVariable("weight", tensor.Full(d, shape, device.Float32, 1, tensor.Tag{}))
			defer v.Close()
			v.ReplaceGrad(tensor.Full(d.Shared(member), shape, device.Float32, value, tensor.Tag{}))
			s := amp.NewScaler(d, amp.ScalerOptions{})
			defer s.Close()
			s.Unscale([]*autograd.Variable{v})
			if s.Overflowed().Wait() == 0 {
				t.Errorf("rank %d has not heard of the overflow of rank 1", rank)
			}
		})
	}
	all.Wait()
}
