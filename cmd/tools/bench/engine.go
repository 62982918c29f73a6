package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/engine/train"
)

const vocab = 50_257

// uncounted is the number of steps before the timed ones.
const uncounted = 2

// engine measures training steps of a GPT in the shape of GPT-2 124M, and the
// matrix products that take most of their time. A step is counted as 6 ·
// parameters · tokens operations: two for each parameter and token forward, and
// twice that backward. Attention and everything else come on top and are not
// counted.
func engine(ctx context.Context, o *options) error {
	settings, err := o.settings(o.onGPU())
	if err != nil {
		return err
	}
	m, about, err := openDevice(o)
	if err != nil {
		return err
	}
	defer m.Close() //nolint:errcheck // the process ends
	a, err := alloc.New(m, alloc.Options{Name: m.Name()})
	if err != nil {
		return err
	}
	d := tensor.NewDevice(m.Name(), a, m, tensor.Options{})
	var rows [][]string
	if err := tensor.Try(func() { rows = append(products(d), smallOperation(d)) }); err != nil {
		return err
	}
	took, err := trainSteps(ctx, d, o, settings)
	if err != nil {
		return err
	}
	rows = append(rows, took...)
	t := newTable(os.Stdout, about, "GFLOP/s", "time")
	for _, cells := range rows {
		t.row(cells...)
	}
	return nil
}

// onGPU reports whether the device is a GPU.
func (o *options) onGPU() bool { return strings.HasPrefix(o.device, "cuda:") }

// settings are those of memtrain on a GPU, or on the processor.
func (o *options) settings(onGPU bool) (train.Settings, error) {
	s := train.DefaultSettings()
	s.PadVocab = onGPU
	var err error
	for _, setting := range [][2]string{{"amp", o.amp}, {"checkpoint", o.checkpoint}, {"residual", o.residual}} {
		if s, err = s.With(setting[0], setting[1]); err != nil {
			return s, err
		}
	}
	return s, nil
}

// trainSteps takes steps and returns rows with their times.
func trainSteps(ctx context.Context, d *tensor.Device, o *options, settings train.Settings) ([][]string, error) {
	t, free, err := newTrainer(d, o, settings)
	if err != nil {
		return nil, err
	}
	defer free()
	times, last, err := timeSteps(ctx, t, o.steps)
	if err != nil {
		return nil, err
	}
	parameters := 0
	for _, p := range t.Parameters() {
		parameters += p.Data().Size()
	}
	tokens := o.batch * o.tokens
	step := func(name string, took time.Duration) []string {
		rate := 6 * float64(parameters) * float64(tokens) / float64(took)
		return []string{"training step, " + name, fmt.Sprintf("%.0f", rate), fmt.Sprintf("%v, %.0f tokens/s", rounded(took), float64(tokens)/took.Seconds())}
	}
	rows := [][]string{step("best", slices.Min(times)), step("median", median(times))}
	return append(rows, []string{fmt.Sprintf("%d parameters, %d tokens a step, peak of %.2f GiB, loss %.3f",
		parameters, tokens, float64(last.Memory.PeakAllocated)/(1<<30), last.Loss)}), nil
}

// newTrainer returns a trainer of a new model, and a function that frees both.
func newTrainer(d *tensor.Device, o *options, settings train.Settings) (*train.Trainer, func(), error) {
	model, err := nn.Build(d, device.Float32, 1, func(b nn.Builder) *nn.GPT {
		return nn.NewGPT(b, nn.GPTConfig{Layers: o.layers, Dim: 768, Heads: 12, Context: o.tokens, Vocab: vocab, Bias: true})
	})
	if err != nil {
		return nil, nil, err
	}
	row := data.Field{Shape: []int{o.tokens}, DType: device.Int32}
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

// timeSteps takes steps. It queues each step while the previous one runs, if the
// device allows that. It returns how long the counted steps took, and the last
// event.
func timeSteps(ctx context.Context, t *train.Trainer, steps int) (times []time.Duration, last train.Event, err error) {
	wait := func(q *train.Queued) error {
		if q == nil {
			return nil
		}
		last, err = q.Wait()
		if err == nil && last.Step > uncounted {
			times = append(times, last.Duration)
		}
		return err
	}
	var running *train.Queued
	for range uncounted + max(1, steps) {
		q, err := t.Queue(ctx)
		if err := errors.Join(wait(running), err); err != nil {
			return nil, last, err
		}
		running = q
		if q.Ready() {
			running = nil
			if err := wait(q); err != nil {
				return nil, last, err
			}
		}
	}
	return times, last, wait(running)
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

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
