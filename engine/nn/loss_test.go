package nn_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"

	"github.com/google/go-cmp/cmp"
)

// entropyOf is a cross-entropy of rows of logits of some type, run forward and
// backward with one way to keep memory.
func entropyOf(t *testing.T, rows, classes int, dtype device.DType, autocast bool, o nn.Options) (loss float64, gradient []float64, kept, peak int64) {
	t.Helper()
	d := tensortest.Device(t)
	values, targets := make([]float64, rows*classes), make([]int32, rows)
	for i := range values {
		values[i] = 9 * math.Sin(float64(i*i))
	}
	for i := range targets {
		targets[i] = int32(i * 7 % classes)
	}
	targets[1] = autograd.IgnoreIndex
	weight := autograd.NewVariable("weight", tensor.From(d, values, tensor.Shape{rows, classes}, dtype, tensor.Tag{}))
	defer weight.Close()
	given := tensor.From(d, targets, tensor.Shape{rows}, device.Int32, tensor.Tag{})
	c := nn.NewCtx(autograd.NewTape(d, 1), o)
	if autocast {
		c.SetCaster(amp.BF16.Caster())
	}
	before := d.Live()
	d.Enter()
	c.Run(func() {
		logits := c.Scale(weight.Value(), -1)
		v := c.Call(&nn.CrossEntropy{}, logits, c.Take(given))
		c.Done(logits)
		kept = d.Live() - before
		loss = v.Data().Item()
		c.Backward(v)
	})
	peak = d.Leave() - before
	return loss, weight.Grad().Floats(), kept, peak
}

func TestBothWaysOfCrossEntropyHaveTheSameBits(t *testing.T) {
	for _, dtype := range []device.DType{device.Float32, device.BFloat16, device.Float16, device.Float64} {
		for _, autocast := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, autocast %v", dtype, autocast), func(t *testing.T) {
				lean, want, _, _ := entropyOf(t, 6, 333, dtype, autocast, nn.Options{})
				loss, got, _, _ := entropyOf(t, 6, 333, dtype, autocast, nn.Options{LossMemory: nn.PyTorchLoss})
				if loss != lean {
					t.Errorf("loss %v, want %v", loss, lean)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("gradients (-lean +pytorch):\n%s", diff)
				}
			})
		}
	}
}

// TestCrossEntropyTakesTheBytesOfPyTorchs compares with testdata/loss_memory.json,
// which testdata/loss_memory.py measures. With autocast the highest moment is another one,
// when there is a number for each row here that PyTorch has not.
func TestCrossEntropyTakesTheBytesOfPyTorchs(t *testing.T) {
	raw, err := os.ReadFile("testdata/loss_memory.json")
	fatal.If(t, err)
	var measured struct {
		Cases []struct {
			Rows, Classes int
			Type          string
			Autocast      bool
			Kept, Peak    int64 // above logits' weight and targets
		}
	}
	fatal.If(t, json.Unmarshal(raw, &measured))
	types := map[string]device.DType{"float32": device.Float32, "bfloat16": device.BFloat16}
	for _, want := range measured.Cases {
		_, _, kept, peak := entropyOf(t, want.Rows, want.Classes, types[want.Type], want.Autocast, nn.Options{LossMemory: nn.PyTorchLoss})
		if want.Autocast {
			peak -= int64(want.Rows) * device.Float32.Size()
		}
		if kept != want.Kept || peak != want.Peak {
			t.Errorf("%d rows of %d classes in %s, autocast %v: %d bytes are kept and %d taken, PyTorch's are %d and %d",
				want.Rows, want.Classes, want.Type, want.Autocast, kept, peak, want.Kept, want.Peak)
		}
	}
}
