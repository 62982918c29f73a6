// Command spirals trains a model of its own with a loss of its own. While it does,
// memtop shows its memory by layer, tensor and line, and changes its settings.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"memtop/engine/autograd"
	"memtop/engine/data"
	"memtop/engine/device"
	"memtop/engine/device/cpu"
	"memtop/engine/nn"
	"memtop/engine/tensor"
	"memtop/engine/train"
	"memtop/probe/engine"
)

// model is a perceptron whose second layer adds to the first.
type model struct {
	nn.Parts
	in, hidden, out *nn.Linear
}

func build(d *tensor.Device) (nn.Module, error) {
	return nn.Build(d, device.Float32, 1, func(b nn.Builder) nn.Module {
		m := &model{Parts: nn.NewParts(b)}
		m.in = nn.Part(&m.Parts, "in", func(b nn.Builder) *nn.Linear { return nn.NewLinear(b, 16, 256, true) })
		m.hidden = nn.Part(&m.Parts, "hidden", func(b nn.Builder) *nn.Linear { return nn.NewLinear(b, 256, 256, true) })
		m.out = nn.Part(&m.Parts, "out", func(b nn.Builder) *nn.Linear { return nn.NewLinear(b, 256, 5, true) })
		return m
	})
}

// Forward takes [Batch, 16] and returns the logits of 5 classes.
func (m *model) Forward(c *nn.Ctx, in ...*autograd.Value) *autograd.Value {
	x := c.GELU(c.Call(m.in, in[0]))
	x = c.Add(x, c.GELU(c.Call(m.hidden, x)))
	return c.Call(m.out, x)
}

// loss is cross-entropy that keeps logits small.
func loss(c *nn.Ctx, in ...*autograd.Value) *autograd.Value {
	logits, target := in[0], in[1]
	return c.Add(c.CrossEntropy(logits, target), c.Scale(c.MeanAll(c.Mul(logits, logits)), 1e-3))
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, 100_000); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, steps int64) error {
	machine, err := cpu.Open(cpu.Options{Capacity: 1 << 30})
	if err != nil {
		return err
	}
	defer func() { _ = machine.Close() }() // the program ends anyway
	return engine.Train(ctx, machine, train.Config{
		Build: build, Loss: nn.NewFunction(loss), Data: data.Spirals{Features: 16, Classes: 5}, Batch: 512,
		Settings: train.DefaultSettings(),
	}, func(e *train.Event) bool {
		if e.Step%100 == 0 {
			fmt.Println("step", e.Step, "loss", e.Loss)
		}
		return e.Step < steps
	})
}
