package nn_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
)

// TestBatchNormIsPyTorchs takes the steps of testdata/batch_norm.json, which
// testdata/batch_norm.py makes: two in training and an evaluation.
func TestBatchNormIsPyTorchs(t *testing.T) {
	raw, err := os.ReadFile("testdata/batch_norm.json")
	fatal.If(t, err)
	var want struct {
		Weight, Bias referenceTensor
		Steps        []struct {
			Training       bool
			Input, Output  referenceTensor
			Grads, Running map[string]referenceTensor
		}
	}
	fatal.If(t, json.Unmarshal(raw, &want))
	d := tensortest.Device(t)
	m, err := nn.Build(d, device.Float64, 1, func(b nn.Builder) *nn.BatchNorm2d { return nn.NewBatchNorm2d(b, 3) })
	fatal.If(t, err)
	defer nn.Close(m)
	tensor.Write(m.Weight.Data(), want.Weight.Values)
	tensor.Write(m.Bias.Data(), want.Bias.Values)
	for _, step := range want.Steps {
		x := autograd.NewVariable("input", tensor.From(d, step.Input.Values, step.Input.Shape, device.Float64, tensor.Tag{}))
		c := nn.NewCtx(autograd.NewTape(d, 1), nn.Options{Training: step.Training})
		c.Run(func() {
			y := c.Call(m, x.Value())
			near(t, "output", y.Data(), step.Output)
			c.Backward(c.SumAll(c.Mul(y, cosines(c, y.Shape()))))
		})
		for _, p := range []*nn.Param{x, m.Weight, m.Bias} {
			near(t, "gradient of "+p.Name(), p.Grad(), step.Grads[p.Name()])
			p.ZeroGrad()
		}
		for _, p := range nn.State(m) {
			near(t, p.Name(), p.Data(), step.Running[p.Name()])
		}
		x.Close()
	}
}

// TestBatchNormCountsABatchOnce runs blocks that the backward pass computes again.
func TestBatchNormCountsABatchOnce(t *testing.T) {
	run := func(policy nn.Policy) (running map[string][]float64) {
		d := tensortest.Device(t)
		m, err := nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.Sequential {
			return nn.NewConvNet(b, nn.ConvNetConfig{Channels: 2, Width: 4, Layers: 3, Classes: 3, BatchNorm: true})
		})
		fatal.If(t, err)
		defer nn.Close(m)
		pixels := make([]float64, 2*2*16*16)
		for i := range pixels {
			pixels[i] = math.Sin(float64(i * i))
		}
		c := nn.NewCtx(autograd.NewTape(d, 1), nn.Options{Training: true, Checkpoint: policy})
		for range 3 {
			c.Run(func() {
				x := c.Take(tensor.From(d, pixels, tensor.Shape{2, 2, 16, 16}, device.Float32, tensor.Tag{}))
				c.Backward(c.SumAll(c.Call(m, x)))
			})
		}
		running = make(map[string][]float64)
		for _, p := range nn.State(m) {
			running[p.Name()] = p.Data().Floats()
		}
		return running
	}
	want := run(nn.Policy{})
	if len(want) != 6 || want["h.0.1.running_var"][0] == 1 {
		t.Fatalf("running statistics are %v", want)
	}
	for name, policy := range map[string]nn.Policy{
		"each block": nn.PerBlock(), "groups of blocks": nn.SqrtN(), "selective": nn.Selective(),
		"a layer in a block": nn.Layers("h.1.1"), "a layer and its block": nn.Layers("h.1", "h.1.1"),
	} {
		if diff := cmp.Diff(want, run(policy)); diff != "" {
			t.Errorf("%s, running statistics (-none +recomputed):\n%s", name, diff)
		}
	}
}
