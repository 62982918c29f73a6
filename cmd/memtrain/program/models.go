package program

import (
	"slices"
	"strings"

	"memtop/engine/data"
	"memtop/engine/nn"
)

// sizes are the flags that say how large a model is and what it is fed. 0 is what
// a model does not have, or what the data decides.
type sizes struct {
	layers, dim, heads int
	seq, batch, vocab  int
}

// preset is a model with a name and the sizes that it has unless flags say
// otherwise.
type preset struct {
	name   string
	family family
	sizes
}

// family is a kind of model: how it is made and fed.
type family struct {
	make func(b nn.Builder, s *sizes) nn.Module
	// text says that it learns from tokens; else samples are what it learns from.
	text    bool
	samples func(seed uint64) data.Dataset
}

var (
	gptFamily  = family{make: makeGPT, text: true}
	mlpFamily  = family{make: makeMLP, samples: spirals}
	convFamily = family{make: makeConv, samples: figures}
)

func makeGPT(b nn.Builder, s *sizes) nn.Module {
	return nn.NewGPT(b, nn.GPTConfig{
		Layers: s.layers, Dim: s.dim, Heads: s.heads, Context: s.seq, Vocab: s.vocab, Bias: true,
	})
}

func makeMLP(b nn.Builder, s *sizes) nn.Module {
	return nn.NewMLP(b, nn.MLPConfig{In: spiralFeatures, Hidden: s.dim, Out: spiralClasses, Layers: s.layers})
}

func makeConv(b nn.Builder, s *sizes) nn.Module {
	return nn.NewConvNet(b, nn.ConvNetConfig{
		Channels: imageChannels, Width: s.dim, Layers: s.layers, Classes: figures(0).Spec().Classes,
	})
}

// sizeFlag is a flag about sizes.
type sizeFlag struct {
	name  string
	most  int
	of    func(*sizes) *int
	usage string
}

var sizeFlags = []sizeFlag{
	{"layers", 1 << 12, func(s *sizes) *int { return &s.layers }, "layers of the model (default 4 of gpt and mlp, 3 of conv)"},
	{"dim", 1 << 20, func(s *sizes) *int { return &s.dim }, "width of a layer (default 128 of gpt and mlp, 16 of conv's first)"},
	{"heads", 1 << 12, func(s *sizes) *int { return &s.heads }, "attention heads (default 4 of gpt)"},
	{"seq", 1 << 20, func(s *sizes) *int { return &s.seq }, "tokens in a sample (default 128 of gpt)"},
	{"batch", 1 << 20, func(s *sizes) *int { return &s.batch }, "samples of one step (default 8 of gpt, 32 of mlp and conv, 1 of larger models)"},
	{"vocab", 1 << 24, func(s *sizes) *int { return &s.vocab }, "tokens that the model knows (default as many as the data of gpt has)"},
}

func sizeNames() []string {
	names := make([]string, len(sizeFlags))
	for i, f := range sizeFlags {
		names[i] = f.name
	}
	return names
}

// has reports whether a size means something to the model.
func (p *preset) has(f sizeFlag) bool {
	return *f.of(&p.sizes) != 0 || f.name == "vocab" && p.family.text
}

// presets are the models that --model names. Those that are published have the
// sizes of their publication: GPT-2 of Radford et al. 2019.
var presets = []preset{
	{"gpt", gptFamily, sizes{layers: 4, dim: 128, heads: 4, seq: 128, batch: 8}},
	{"mlp", mlpFamily, sizes{layers: 4, dim: 128, batch: 32}},
	{"conv", convFamily, sizes{layers: 3, dim: 16, batch: 32}},
	{"gpt2", gptFamily, sizes{layers: 12, dim: 768, heads: 12, seq: 1024, vocab: 50257, batch: 1}},
	{"gpt2-medium", gptFamily, sizes{layers: 24, dim: 1024, heads: 16, seq: 1024, vocab: 50257, batch: 1}},
	{"gpt2-large", gptFamily, sizes{layers: 36, dim: 1280, heads: 20, seq: 1024, vocab: 50257, batch: 1}},
	{"gpt2-xl", gptFamily, sizes{layers: 48, dim: 1600, heads: 25, seq: 1024, vocab: 50257, batch: 1}},
}

// presetNames lists all of them.
func presetNames() string {
	names := make([]string, len(presets))
	for i, p := range presets {
		names[i] = p.name
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// findPreset returns the model that --model names.
func findPreset(name string) (preset, error) {
	i := slices.IndexFunc(presets, func(p preset) bool { return p.name == name })
	if i < 0 {
		return preset{}, usagef("there is no model %q: %s are known", name, presetNames())
	}
	return presets[i], nil
}

// The data that the models without a text learn from.
const (
	spiralFeatures = 32
	spiralClasses  = 5
	imageChannels  = 3
	imageSide      = 32
)

func spirals(seed uint64) data.Dataset {
	return data.Spirals{Seed: seed, Features: spiralFeatures, Classes: spiralClasses}
}

func figures(seed uint64) data.Dataset {
	return data.Figures{Seed: seed, Channels: imageChannels, Side: imageSide}
}
