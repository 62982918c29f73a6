package program

import (
	"github.com/memtop/memtop/cmd/command"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/tensor"
)

// complete fills in the options that depend on the model, and refuses options
// that do not fit.
func (o *options) complete() (err error) {
	if o.preset, err = findPreset(o.model); err != nil {
		return err
	}
	for _, f := range sizeFlags {
		n, has := f.of(&o.sizes), o.preset.has(f)
		switch {
		case !has && (o.given(f.name) || *n != 0):
			return usagef("--%s is no size of %s", f.name, o.model)
		case (o.given(f.name) || *n != 0) && (*n < 1 || *n > f.most):
			return usagef("--%s %d: want a number from 1 to %d", f.name, *n, f.most)
		case *n == 0:
			*n = *f.of(&o.preset.sizes)
		}
	}
	o.base = o.preset.base
	return o.check()
}

// check refuses sizes that do not go together.
func (o *options) check() error {
	switch text := o.preset.family.text; {
	case o.given("device-memory") && o.deviceMemory == 0:
		return usagef("--device-memory 0: want the size of a device that has memory, such as 2GiB")
	case o.steps < 0:
		return usagef("--steps %d: want 0 or more", o.steps)
	case o.dropout != 0 && o.preset.family.name != "gpt":
		return usagef("--dropout is for models as gpt, not for %s", o.model)
	case !(o.dropout >= 0 && o.dropout < 1):
		return usagef("--dropout %v: want a probability, from 0 to below 1", o.dropout)
	case !text && o.data != "":
		return usagef("--data is for models of text, not for %s", o.model)
	case text && o.dim%o.heads != 0:
		return usagef("--dim %d cannot be divided among --heads %d", o.dim, o.heads)
	case o.kvHeads > 0 && o.heads%o.kvHeads != 0:
		return usagef("--heads %d cannot share --kv-heads %d evenly", o.heads, o.kvHeads)
	case o.kvHeads > 0 && o.dim/o.heads%2 != 0:
		return usagef("--dim %d in --heads %d: llama turns pairs, and a head of %d has an odd one", o.dim, o.heads, o.dim/o.heads)
	case o.model == "conv" && o.layers > 5:
		return usagef("--layers %d: each halves a picture of %d pixels, so at most 5", o.layers, imageSide)
	}
	return nil
}

// spec describes the model's input without opening the data.
func (o *options) spec() data.Spec {
	if samples := o.preset.family.samples; samples != nil {
		return samples(o.seed).Spec()
	}
	if o.vocab == 0 {
		o.vocab = data.Corpus().Vocabulary()
	}
	row := data.Field{Shape: []int{o.seq}, DType: device.Int32}
	return data.Spec{Input: row, Target: row, Classes: o.vocab}
}

// dataset opens the data. closeData ends its use.
func (o *options) dataset() (set data.Dataset, closeData func(), err error) {
	closeData = func() {}
	if samples := o.preset.family.samples; samples != nil {
		return samples(o.seed), closeData, nil
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
	return nn.Build(d, o.half.dtype(), o.seed, func(b nn.Builder) nn.Module { return o.preset.family.make(b, &o.sizes) })
}
