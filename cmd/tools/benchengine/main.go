// Command benchengine measures training steps of a GPT in the shape of GPT-2
// 124M, beside the matrix product that they are mostly made of. `make
// bench-engine` runs it on the processor and `make gpu` on a GPU.
//
// A step is counted as 6 · parameters · tokens operations: two for each
// parameter and token forward, and twice that backward. Attention and
// everything else come on top and are not counted.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/choice"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/engine/train"
)

// options are the flags.
type options struct {
	device          string
	steps, layers   int
	batch, length   int
	amp, checkpoint string
	asJSON          bool
	ownProducts     bool
	library         bool
	noTrain         bool
	launches        bool
	architecture    string
}

func main() {
	cuda.Trials()
	var o options
	flag.StringVar(&o.device, "device", "cpu:0", "device to measure: cpu:0 or cuda:N")
	flag.IntVar(&o.steps, "steps", 8, "steps to time, after some that are not")
	flag.IntVar(&o.layers, "layers", 12, "layers of the model")
	flag.IntVar(&o.batch, "batch", 4, "samples in a step")
	flag.IntVar(&o.length, "length", 64, "tokens in a sample")
	flag.StringVar(&o.amp, "amp", "off", "mixed precision: "+choice.Or(amp.Modes()))
	flag.StringVar(&o.checkpoint, "checkpoint", "none", "what to compute again instead of keeping")
	flag.BoolVar(&o.asJSON, "json", false, "print one JSON object")
	flag.BoolVar(&o.ownProducts, "own-products", false, "on a GPU, multiply with our kernels even where cuBLASLt is found")
	flag.BoolVar(&o.library, "library", false, "fail unless cuBLASLt multiplies")
	flag.BoolVar(&o.noTrain, "products", false, "measure products and launches only")
	flag.BoolVar(&o.launches, "launches", false, "count what a step launches on a GPU and what that reads and writes, without one")
	flag.StringVar(&o.architecture, "architecture", "ampere", "with -launches, the GPU: "+strings.Join(architectures, " or "))
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "benchengine:", err)
		os.Exit(1)
	}
}

// result is everything that was measured.
type result struct {
	Device   string    `json:"device"`
	Products []product `json:"products"`
	LaunchNS float64   `json:"launch_ns"` // of queueing a kernel that does next to nothing
	Training *training `json:"training,omitempty"`
}

func run(o options) error {
	if o.launches {
		_, err := countLaunches(o, os.Stdout)
		return err
	}
	m, about, err := open(o)
	if err != nil {
		return err
	}
	defer m.Close() //nolint:errcheck // the process ends
	a, err := alloc.New(m, alloc.Options{Name: m.Name()})
	if err != nil {
		return err
	}
	d := tensor.NewDevice(m.Name(), a, m, tensor.Options{})
	var r result
	if err := tensor.Try(func() { r.Products, r.LaunchNS = products(d), launches(d) }); err != nil {
		return err
	}
	r.Device = about()
	if !o.noTrain {
		settings, err := o.settings()
		if err != nil {
			return err
		}
		if r.Training, err = trainSteps(d, o, settings); err != nil {
			return err
		}
	}
	if o.asJSON {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	r.print(os.Stdout)
	return nil
}

// settings are those of memtrain on the same device.
func (o *options) settings() (train.Settings, error) {
	s := train.DefaultSettings()
	s.PadVocab = o.onGPU()
	s, err := s.With("amp", o.amp)
	if err != nil {
		return s, err
	}
	return s.With("checkpoint", o.checkpoint)
}

// onGPU reports whether steps run on a GPU, or are counted as there.
func (o *options) onGPU() bool { return o.launches || strings.HasPrefix(o.device, "cuda:") }
