package program

import (
	"memtop/cmd/command"
	"memtop/engine/amp"
	"memtop/engine/data"
	"memtop/engine/device"
	"memtop/engine/nn"
	"memtop/engine/tensor"
)

// The data that the models without a text learn from.
const (
	spiralFeatures = 32
	spiralClasses  = 5
	imageChannels  = 3
	imageSide      = 32
)

// complete fills in what depends on the model, and refuses what does not fit.
func (o *options) complete() error {
	layers, dim, batch := 4, 128, 8
	switch o.model {
	case "gpt":
	case "mlp":
		batch = 32
	case "conv":
		layers, dim, batch = 3, 16, 32
	default:
		return usagef("there is no model %q: gpt, mlp and conv are known", o.model)
	}
	o.fill("layers", &o.layers, layers)
	o.fill("dim", &o.dim, dim)
	o.fill("batch", &o.batch, batch)
	if o.model == "gpt" {
		o.fill("heads", &o.heads, 4)
		o.fill("seq", &o.seq, 128)
	}
	return o.check()
}

// fill sets a flag that was not given. A 0 that was given stays, to be refused.
func (o *options) fill(flag string, n *int, value int) {
	if *n == 0 && !o.given(flag) {
		*n = value
	}
}

func (o *options) check() error {
	for _, f := range []struct {
		name        string
		value, most int
	}{
		{"layers", o.layers, 1 << 12},
		{"dim", o.dim, 1 << 20},
		{"heads", o.heads, 1 << 12},
		{"seq", o.seq, 1 << 20},
		{"batch", o.batch, 1 << 20},
		{"vocab", o.vocab, 1 << 24},
	} {
		// 0 is only what a flag is that was not given.
		if f.value < 0 || f.value > f.most || f.value == 0 && o.given(f.name) {
			return usagef("--%s %d: want a number from 1 to %d", f.name, f.value, f.most)
		}
	}
	switch {
	case o.deviceMemory == 0:
		return usagef("--device-memory 0: want the size of a device that has memory, such as 2GiB")
	case o.steps < 0:
		return usagef("--steps %d: want 0 or more", o.steps)
	case o.model == "gpt" && o.dim%o.heads != 0:
		return usagef("--dim %d cannot be divided among --heads %d", o.dim, o.heads)
	case o.model != "gpt" && (o.data != "" || o.given("heads") || o.given("seq") || o.given("vocab")):
		return usagef("--data, --heads, --seq and --vocab are for --model gpt, not for %s", o.model)
	case o.model == "conv" && o.layers > 5:
		return usagef("--layers %d: each halves a picture of %d pixels, so at most 5", o.layers, imageSide)
	}
	return nil
}

// dataset opens the data. closeData ends its use.
func (o *options) dataset() (set data.Dataset, closeData func(), err error) {
	closeData = func() {}
	switch o.model {
	case "mlp":
		return data.Spirals{Seed: o.seed, Features: spiralFeatures, Classes: spiralClasses}, closeData, nil
	case "conv":
		return data.Figures{Seed: o.seed, Channels: imageChannels, Side: imageSide}, closeData, nil
	}
	tokens := data.Corpus()
	if o.data != "" {
		if tokens, err = data.Open(o.data); err != nil {
			return nil, closeData, err
		}
		closeData = func() { _ = tokens.Close() } // it was only read
	}
	if o.vocab == 0 {
		o.vocab = tokens.Vocabulary()
	}
	if o.vocab < tokens.Vocabulary() {
		closeData()
		return nil, nil, usagef("--vocab %d: the data has tokens up to %d", o.vocab, tokens.Vocabulary()-1)
	}
	if set, err = data.NewWindows(tokens, o.seq); err != nil {
		closeData()
		return nil, nil, command.Usage(err.Error(), "give a longer text, or a smaller --seq")
	}
	return set, closeData, nil
}

// build makes the model on a device.
func (o *options) build(d *tensor.Device) (nn.Module, error) {
	model, err := nn.Build(d, device.Float32, o.seed, o.make)
	if err != nil {
		return nil, err
	}
	if o.half {
		err = tensor.Try(func() { amp.Convert(nn.Params(model), device.BFloat16) })
	}
	if err != nil {
		nn.Close(model)
	}
	return model, err
}

func (o *options) make(b nn.Builder) nn.Module {
	switch o.model {
	case "mlp":
		return nn.NewMLP(b, nn.MLPConfig{In: spiralFeatures, Hidden: o.dim, Out: spiralClasses, Layers: o.layers})
	case "conv":
		spec := data.Figures{Channels: imageChannels, Side: imageSide}.Spec()
		return nn.NewConvNet(b, nn.ConvNetConfig{
			Channels: imageChannels, Width: o.dim, Layers: o.layers, Classes: spec.Classes,
		})
	default:
		return nn.NewGPT(b, nn.GPTConfig{
			Layers: o.layers, Dim: o.dim, Heads: o.heads, Context: o.seq, Vocab: o.vocab, Bias: true,
		})
	}
}
