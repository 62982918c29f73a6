package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/engine/train"
)

const vocab = 50_257

// training is what steps took.
type training struct {
	Parameters    int              `json:"parameters"`
	Tokens        int              `json:"tokens"` // of a step
	BestNS        int64            `json:"best_ns"`
	MedianNS      int64            `json:"median_ns"`
	PeakAllocated int64            `json:"peak_allocated_bytes"`
	PeakReserved  int64            `json:"peak_reserved_bytes"`
	Loss          float64          `json:"loss"`
	Phases        map[string]int64 `json:"phases_ns"` // of the host, in the last step
}

// warm is how many steps come before those that are timed.
const warm = 2

func trainSteps(d *tensor.Device, o options, settings train.Settings) (*training, error) {
	t, free, err := newTrainer(d, o, settings)
	if err != nil {
		return nil, err
	}
	defer free()
	result := &training{Tokens: o.batch * o.length, Phases: make(map[string]int64)}
	for _, p := range t.Parameters() {
		result.Parameters += p.Data().Size()
	}
	return result, result.time(t, o.steps)
}

// newTrainer returns a trainer of a new model, and what frees both.
func newTrainer(d *tensor.Device, o options, settings train.Settings) (*train.Trainer, func(), error) {
	model, err := nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.GPT {
		return nn.NewGPT(b, nn.GPTConfig{Layers: o.layers, Dim: 768, Heads: 12, Context: o.length, Vocab: vocab, Bias: true})
	})
	if err != nil {
		return nil, nil, err
	}
	row := data.Field{Shape: []int{o.length}, DType: device.Int32}
	spec := data.Spec{Input: row, Target: row, Classes: vocab}
	t, err := train.New(train.Config{
		Device: d, Model: model, Batches: random{data.Empty(spec, o.batch)}, Spec: spec, Batch: o.batch, Settings: settings,
	})
	if err != nil {
		nn.Close(model)
		return nil, nil, err
	}
	return t, func() { t.Close(); nn.Close(model) }, nil
}

// time takes steps, each queued while the one before it runs where the device
// allows that.
func (r *training) time(t *train.Trainer, steps int) error {
	var times []time.Duration
	wait := func(q *train.Queued) error {
		if q == nil {
			return nil
		}
		e, err := q.Wait()
		if err == nil && e.Step > warm {
			times = append(times, e.Duration)
		}
		r.note(&e)
		return err
	}
	var running *train.Queued
	for range warm + steps {
		q, err := t.Queue(context.Background())
		if err := errors.Join(wait(running), err); err != nil {
			return err
		}
		running = q
		if q.Ready() {
			running = nil
			if err := wait(q); err != nil {
				return err
			}
		}
	}
	if err := wait(running); err != nil {
		return err
	}
	slices.Sort(times)
	r.BestNS, r.MedianNS = times[0].Nanoseconds(), times[len(times)/2].Nanoseconds()
	return nil
}

func (r *training) note(e *train.Event) {
	r.Loss, r.PeakAllocated, r.PeakReserved = e.Loss, e.Memory.PeakAllocated, e.Memory.PeakReserved
	for _, p := range e.Phases {
		r.Phases[p.Name] = p.Duration.Nanoseconds()
	}
}

func (r *result) print(out io.Writer) {
	fmt.Fprintln(out, r.Device)
	for _, p := range r.Products {
		fmt.Fprintf(out, "%-9s product %4d³  %8.0f GFLOP/s\n", p.DType, p.N, p.GFLOPS)
	}
	fmt.Fprintf(out, "small operation         %6.0f ns\n", r.LaunchNS)
	t := r.Training
	if t == nil {
		return
	}
	rate := func(ns int64) float64 { return 6 * float64(t.Parameters) * float64(t.Tokens) / float64(ns) }
	fmt.Fprintf(out, "training step, best     %6.0f GFLOP/s  %v, %.0f tokens/s\n", rate(t.BestNS), rounded(t.BestNS), float64(t.Tokens)/float64(t.BestNS)*1e9)
	fmt.Fprintf(out, "training step, median   %6.0f GFLOP/s  %v\n", rate(t.MedianNS), rounded(t.MedianNS))
	for _, name := range []string{"forward", "backward", "optimizer"} {
		fmt.Fprintf(out, "  %-22s%v\n", name, rounded(t.Phases[name]))
	}
	fmt.Fprintf(out, "%d parameters, %d tokens a step, peak of %.2f GiB, loss %.3f\n",
		t.Parameters, t.Tokens, float64(t.PeakAllocated)/(1<<30), t.Loss)
}

func rounded(ns int64) time.Duration { return time.Duration(ns).Round(10 * time.Microsecond) }

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
