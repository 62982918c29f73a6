// Command spirals trains a model of its own with a loss of its own. While it does,
// memtop shows its memory by layer, tensor and line, and changes its settings.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/probe/engine"
)

// model is a perceptron whose second layer adds to the first.
type model struct {
	nn.Parts
	in, hidden, out *nn.Linear
}

func newModel(b nn.Builder) nn.Module {
	m := &model{Parts: nn.NewParts(b)}
	m.in, m.hidden, m.out = m.Linear("in", 16, 256), m.Linear("hidden", 256, 256), m.Linear("out", 256, 5)
	return m
}

// Forward takes [Batch, 16] and returns the logits of 5 classes.
func (m *model) Forward(c *nn.Ctx, in ...*autograd.Value) *autograd.Value {
	x := c.GELU(c.Call(m.in, in[0]))
	x = c.Add(x, c.GELU(c.Call(m.hidden, x)))
	return c.Call(m.out, x)
}

// loss is cross-entropy that keeps logits small.
func loss(c *nn.Ctx, in ...*autograd.Value) *autograd.Value {
	return c.Add(c.CrossEntropy(in[0], in[1]), c.Scale(c.MeanAll(c.Mul(in[0], in[0])), 1e-3))
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, 100_000); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, steps int64) error {
	return engine.Train(ctx, nil, train.Config{
		Build: nn.Maker(1, newModel), Loss: nn.NewFunction(loss), Data: data.Spirals{Features: 16, Classes: 5}, Batch: 512,
		Settings: train.DefaultSettings(),
	}, func(e *train.Event) bool {
		if e.Step%100 == 0 {
			fmt.Println("step", e.Step, "loss", e.Loss)
		}
		return e.Step < steps
	})
}
