// Command benchengine measures training steps of a GPT in the shape of GPT-2
// 124M, beside the matrix product that they are mostly made of. `make
// bench-engine` runs it.
//
// A step is counted as 6 · parameters · tokens operations: two for each
// parameter and token forward, and twice that backward. Attention and
// everything else come on top and are not counted.
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"memtop/engine/alloc"
	"memtop/engine/data"
	"memtop/engine/device"
	"memtop/engine/device/cpu"
	"memtop/engine/nn"
	"memtop/engine/tensor"
	"memtop/engine/train"
)

func main() {
	steps := flag.Int("steps", 8, "steps to time, after one that is not")
	layers := flag.Int("layers", 12, "layers of the model")
	batch := flag.Int("batch", 4, "samples of 64 tokens in a step")
	flag.Parse()
	if err := run(*layers, *batch, *steps); err != nil {
		fmt.Fprintln(os.Stderr, "benchengine:", err)
		os.Exit(1)
	}
}

const (
	capacity = 8 << 30
	length   = 64
	vocab    = 50_257
)

func run(layers, batch, steps int) error {
	c, err := cpu.Open(cpu.Options{Capacity: capacity})
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // the process ends
	a, err := alloc.New(c, alloc.Options{Name: c.Name()})
	if err != nil {
		return err
	}
	d := tensor.NewDevice(c.Name(), a, c, tensor.Options{})
	for _, n := range []int{1024, 2048} {
		fmt.Printf("matrix product %d³       %6.0f GFLOP/s\n", n, product(d, n))
	}
	return trainSteps(d, layers, batch, steps)
}

// product returns the rate of the best of several products of square matrices.
func product(d *tensor.Device, n int) float64 {
	var list [3]*tensor.Tensor
	for i := range list {
		list[i] = tensor.Full(d, tensor.Shape{n, n}, device.Float32, 1, tensor.Tag{})
		defer list[i].Release()
	}
	m := device.MatMul{C: list[0].Array(), A: list[1].Array(), B: list[2].Array(), M: n, N: n, K: n}
	best := time.Duration(1 << 62)
	for range 10 {
		start := time.Now()
		d.Backend().MatMul(m)
		_ = d.Backend().Synchronize() // it only computes
		best = min(best, time.Since(start))
	}
	return 2 * float64(n) * float64(n) * float64(n) / best.Seconds() / 1e9
}

func trainSteps(d *tensor.Device, layers, batch, steps int) error {
	model, err := nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.GPT {
		return nn.NewGPT(b, nn.GPTConfig{Layers: layers, Dim: 768, Heads: 12, Context: length, Vocab: vocab, Bias: true})
	})
	if err != nil {
		return err
	}
	defer nn.Close(model)
	row := data.Field{Shape: []int{length}, DType: device.Int32}
	spec := data.Spec{Input: row, Target: row, Classes: vocab}
	t, err := train.New(train.Config{
		Device: d, Model: model, Batches: random{data.Empty(spec, batch)}, Spec: spec, Batch: batch, Settings: train.DefaultSettings(),
	})
	if err != nil {
		return err
	}
	defer t.Close()
	parameters := 0
	for _, p := range t.Parameters() {
		parameters += p.Data().Size()
	}
	var times []time.Duration
	var last train.Event
	for i := range steps + 1 {
		if last, err = t.Step(context.Background()); err != nil {
			return err
		}
		if i > 0 {
			times = append(times, last.Duration)
		}
	}
	report(parameters, batch*length, times, &last)
	return nil
}

func report(parameters, tokens int, times []time.Duration, e *train.Event) {
	slices.Sort(times)
	rate := func(t time.Duration) float64 { return 6 * float64(parameters) * float64(tokens) / t.Seconds() / 1e9 }
	best, median := times[0], times[len(times)/2]
	fmt.Printf("training step, best     %6.0f GFLOP/s  %v, %.0f tokens/s\n", rate(best), best.Round(time.Millisecond), float64(tokens)/best.Seconds())
	fmt.Printf("training step, median   %6.0f GFLOP/s  %v\n", rate(median), median.Round(time.Millisecond))
	for _, p := range e.Phases {
		fmt.Printf("  %-22s%v\n", p.Name, p.Duration.Round(time.Millisecond))
	}
	fmt.Printf("%d parameters, %d tokens a step, peak of %.2f GiB, loss %.3f\n",
		parameters, tokens, float64(e.Memory.PeakAllocated)/(1<<30), e.Loss)
}

// random are batches of random tokens.
type random struct{ batch *data.Batch }

func (random) Position() int64 { return 0 }

func (r random) Next(context.Context) (*data.Batch, error) {
	for _, field := range [][]byte{r.batch.Input, r.batch.Target} {
		for i := 0; i < len(field); i += 4 {
			binary.LittleEndian.PutUint32(field[i:], rand.Uint32N(vocab))
		}
	}
	return r.batch, nil
}
