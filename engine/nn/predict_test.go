package nn_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/tensortest"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// TestPredictedBytesOfEveryModelEqualMeasured is about models besides GPT, whose
// convolutions use workspace of the device's choice.
func TestPredictedBytesOfEveryModelEqualMeasured(t *testing.T) {
	tests := map[string]struct {
		build func(b nn.Builder) *nn.Sequential
		shape tensor.Shape
	}{
		"MLP": {func(b nn.Builder) *nn.Sequential {
			return nn.NewMLP(b, nn.MLPConfig{In: 20, Hidden: 48, Out: 10, Layers: 6})
		}, tensor.Shape{32, 20}},
		"ConvNet": {func(b nn.Builder) *nn.Sequential {
			return nn.NewConvNet(b, nn.ConvNetConfig{Channels: 3, Width: 8, Layers: 4, Classes: 10})
		}, tensor.Shape{4, 3, 32, 32}},
	}
	for name, test := range tests {
		for policy, p := range policies(t) {
			t.Run(name+" "+policy, func(t *testing.T) {
				d := tensortest.Device(t)
				m, err := nn.Build(d, device.Float32, 1, test.build)
				if err != nil {
					t.Fatal(err)
				}
				defer nn.Close(m)
				loss := &nn.CrossEntropy{}
				forward := func(c *nn.Ctx, m *nn.Sequential) *autograd.Value {
					tag := tensor.Tag{Category: trace.Input}
					x := c.Take(tensor.Full(c.Device(), test.shape, device.Float32, 0.1, tag))
					y := c.Take(tensor.Full(c.Device(), test.shape[:1], device.Int32, 3, tag))
					return c.Call(loss, c.Call(m, x), y)
				}
				o := nn.Options{Training: true, Checkpoint: p}
				predicted, err := rehearsed(d, plan[*nn.Sequential]{build: test.build, options: o, loss: forward})
				if err != nil {
					t.Fatal(err)
				}
				c := nn.NewCtx(autograd.NewTape(d, 1), o)
				usage := d.Measure(func() {
					c.Run(func() { c.Backward(forward(c, m)) })
				})
				if diff := cmp.Diff(table(c.Layers()), table(predicted.Layers)); diff != "" {
					t.Errorf("layers (-measured +predicted):\n%s", diff)
				}
				if usage.Peak != predicted.PeakBytes {
					t.Errorf("the peak is %d bytes, predicted %d", usage.Peak, predicted.PeakBytes)
				}
			})
		}
	}
}
