package program

import (
	"slices"
	"strings"

	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/nn"
)

// sizes are the flags for the size of a model and of its input. 0 means that the
// model does not have the size, or that the data decides it.
type sizes struct {
	layers, dim, heads int
	kvHeads, hidden    int // of llama
	seq, batch, vocab  int
	base               float64 // of llama's rotation; there is no flag for it
	dropout            float64 // of gpt
}

// preset is a model with a name and its default sizes, which flags can change.
type preset struct {
	name   string
	family family
	sizes
}

// family is a kind of model: how it is made and fed.
type family struct {
	name string
	make func(b nn.Builder, s *sizes) nn.Module
	// text says that the model learns from tokens; if false, it learns from
	// samples.
	text    bool
	samples func(seed uint64) data.Dataset
}

var (
	gptFamily   = family{name: "gpt", make: makeGPT, text: true}
	llamaFamily = family{name: "llama", make: makeLlama, text: true}
	mlpFamily   = family{name: "mlp", make: makeMLP, samples: spirals}
	convFamily  = family{name: "conv", make: makeConv, samples: figures}
)

func makeGPT(b nn.Builder, s *sizes) nn.Module {
	return nn.NewGPT(b, nn.GPTConfig{
		Layers: s.layers, Dim: s.dim, Heads: s.heads, Context: s.seq, Vocab: s.vocab, Bias: true, Dropout: s.dropout,
	})
}

func makeLlama(b nn.Builder, s *sizes) nn.Module {
	return nn.NewLlama(b, nn.LlamaConfig{
		Layers: s.layers, Dim: s.dim, Heads: s.heads, KVHeads: s.kvHeads, Hidden: s.hidden,
		Context: s.seq, Vocab: s.vocab, Base: s.base,
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
	{"layers", 1 << 12, func(s *sizes) *int { return &s.layers }, "layers of the model (default 4; 3 of conv)"},
	{"dim", 1 << 20, func(s *sizes) *int { return &s.dim }, "width of a layer (default 128; 16 of conv's first)"},
	{"heads", 1 << 12, func(s *sizes) *int { return &s.heads }, "attention heads (default 4)"},
	{"kv-heads", 1 << 12, func(s *sizes) *int { return &s.kvHeads }, "key and value heads of llama (default 2)"},
	{"hidden", 1 << 22, func(s *sizes) *int { return &s.hidden }, "width inside llama's MLP (default 352)"},
	{"seq", 1 << 20, func(s *sizes) *int { return &s.seq }, "tokens in a sample (default 128)"},
	{"batch", 1 << 20, func(s *sizes) *int { return &s.batch }, "samples of one step (default 8; 32 of mlp and conv, 1 of published models)"},
	{"vocab", 1 << 24, func(s *sizes) *int { return &s.vocab }, "size of the vocabulary (default as many as the data has)"},
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

// presets are the models that --model names. Published models have the sizes of
// their publication: GPT-2 of Radford et al. 2019, Llama of Touvron et al. 2023
// (65B of the first paper, the others of the second; 7B and 13B differ between
// the two only in the context), Llama 3 of Grattafiori et al. 2024.
var presets = []preset{
	{"gpt", gptFamily, sizes{layers: 4, dim: 128, heads: 4, seq: 128, batch: 8}},
	{"llama", llamaFamily, sizes{layers: 4, dim: 128, heads: 4, kvHeads: 2, hidden: 352, seq: 128, batch: 8}},
	{"mlp", mlpFamily, sizes{layers: 4, dim: 128, batch: 32}},
	{"conv", convFamily, sizes{layers: 3, dim: 16, batch: 32}},
	{"gpt2", gptFamily, gpt2(12, 768, 12)},
	{"gpt2-medium", gptFamily, gpt2(24, 1024, 16)},
	{"gpt2-large", gptFamily, gpt2(36, 1280, 20)},
	{"gpt2-xl", gptFamily, gpt2(48, 1600, 25)},
	{"llama-7b", llamaFamily, llama(32, 4096, 32, 32, 11008, 4096)},
	{"llama-13b", llamaFamily, llama(40, 5120, 40, 40, 13824, 4096)},
	{"llama-65b", llamaFamily, llama(80, 8192, 64, 64, 22016, 2048)},
	{"llama-70b", llamaFamily, llama(80, 8192, 64, 8, 28672, 4096)},
	{"llama3-8b", llamaFamily, llama3(32, 4096, 32, 14336)},
	{"llama3-70b", llamaFamily, llama3(80, 8192, 64, 28672)},
}

func gpt2(layers, dim, heads int) sizes {
	return sizes{layers: layers, dim: dim, heads: heads, seq: 1024, vocab: 50257, batch: 1}
}

func llama(layers, dim, heads, kvHeads, hidden, seq int) sizes {
	return sizes{layers: layers, dim: dim, heads: heads, kvHeads: kvHeads, hidden: hidden, seq: seq, vocab: 32000, batch: 1}
}

func llama3(layers, dim, heads, hidden int) sizes {
	s := llama(layers, dim, heads, 8, hidden, 8192)
	s.vocab, s.base = 128256, 500000
	return s
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
