package train

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
	"github.com/memtop/memtop/snapshots/trace"
)

// offloadable are settings that offloading has to work together with.
var offloadable = map[string]struct {
	change func(*Settings)
	half   bool // the whole model in bfloat16
}{
	"adamw":                     {change: func(*Settings) {}},
	"plain sgd, no clipping":    {change: func(s *Settings) { s.Optimizer, s.Clip = optim.Settings{Kind: optim.SGD}, 0 }},
	"eight bits, in four parts": {change: func(s *Settings) { s.Optimizer, s.Accumulate = optim.Defaults(optim.AdamW8bit), 4 }},
	"bf16, checkpointed, in two parts": {change: func(s *Settings) {
		s.AMP, s.Checkpoint, s.Accumulate = amp.BF16, nn.PerBlock(), 2
	}},
	"fp16 with a loss scale, selective": {change: func(s *Settings) { s.AMP, s.Checkpoint = amp.FP16, nn.Selective() }},
	"the whole model in bf16":           {change: func(s *Settings) { s.Checkpoint = nn.SqrtN() }, half: true},
}

// offloading is a GPT with a parameter that is kept in eight bits.
func offloading() nn.GPTConfig {
	g := tiny()
	g.Dim, g.Dropout = 32, 0.1
	return g
}

// offloadingTrainer returns a trainer of that GPT.
func offloadingTrainer(t *testing.T, s Settings, half bool) *Trainer {
	t.Helper()
	dtype := device.Float32
	if half {
		dtype = device.BFloat16
	}
	b := newBenchOf(t, 64<<20, dtype, offloading(), Offload{})
	// Large enough that the first steps overflow and are skipped.
	return b.trainer(t, s, func(c *Config) { c.Scaler = amp.ScalerOptions{Initial: 1 << 32} })
}

// TestOffloadingChangesNoBit trains with every way of offloading from the first
// step on, and with each in steps 2 and 3.
func TestOffloadingChangesNoBit(t *testing.T) {
	tried := offloadTests
	if testing.Short() {
		tried = []string{"optimizer+gradients+parameters+activations"}
	}
	for name, test := range offloadable {
		t.Run(name, func(t *testing.T) {
			s := DefaultSettings()
			test.change(&s)
			changesNoBit(t, s, test.half, "offload", tried)
		})
	}
}

// changesNoBit trains with each value of a setting, from the first step on or in steps 2
// and 3, and compares the losses with those of a run without it. A value that is
// there from the first step on in one run is there for two steps in the next.
func changesNoBit(t *testing.T, s Settings, half bool, key string, values []string) {
	t.Helper()
	want := losses(steps(t, offloadingTrainer(t, s, half), 4))
	for i, value := range values {
		with, err := s.With(key, value)
		fatal.If(t, err)
		if (i+len(t.Name()))%2 == 0 {
			equal.Values(t, fmt.Sprintf("%s=%s: losses", key, value), want, losses(steps(t, offloadingTrainer(t, with, half), 4)))
			continue
		}
		some := offloadingTrainer(t, s, half)
		got := losses(steps(t, some, 1))
		for i, now := range []Settings{with, s} {
			fatal.If(t, some.Set(now))
			got = append(got, losses(steps(t, some, 2-i))...)
		}
		equal.Values(t, fmt.Sprintf("%s=%s for two steps: losses", key, value), want, got)
	}
}

// offloadTests are the sets that are tried.
var offloadTests = []string{
	"optimizer", "gradients", "parameters", "activations", "optimizer+parameters", "optimizer+gradients+parameters+activations",
	"parameters=h.0+h.2.mlp+activations=h.1+h.3.attn",
}

// TestWhatDoesNotFitOnTheDeviceComesBackLater trains a model that is larger than
// the device, requests all of it on the device, and goes on without.
func TestWhatDoesNotFitOnTheDeviceComesBackLater(t *testing.T) {
	g := tiny()
	g.Dim, g.Layers = 256, 4 // 12 MiB of parameters
	all := DefaultSettings()
	all.Offload = Offload{true, true, AllLayers, AllLayers}
	train := func(between func(*Trainer)) []float64 {
		trainer := newBenchOf(t, 8<<20, device.Float32, g, all.Offload).trainer(t, all, nil)
		list := losses(steps(t, trainer, 2))
		between(trainer)
		return append(list, losses(steps(t, trainer, 2))...)
	}
	want := train(func(*Trainer) {}) // a step that fails keeps its batch
	got := train(func(trainer *Trainer) {
		for _, parts := range []string{"none", "gradients+activations"} {
			set(t, trainer, "offload="+parts)
			var oom *OutOfMemoryError
			if _, err := trainer.Step(t.Context()); !errors.As(err, &oom) {
				t.Fatalf("with %s on the host: error %v, want an OutOfMemoryError", parts, err)
			}
		}
		fatal.If(t, trainer.Set(all))
	})
	equal.Values(t, "losses", want, got)
}

func TestOffloadIsReadAsItIsWritten(t *testing.T) {
	for text, want := range map[string]Offload{
		"none":                                   {},
		"optimizer":                              {Optimizer: true},
		"optimizer+gradients":                    {Optimizer: true, Gradients: true},
		"parameters+activations":                 {Parameters: AllLayers, Activations: AllLayers},
		"activations=h.0+h.1.mlp":                {Activations: "h.0+h.1.mlp"},
		"parameters=wte+h.0+h.1":                 {Parameters: "wte+h.0+h.1"},
		"optimizer+parameters=h+activations=wte": {Optimizer: true, Parameters: "h", Activations: "wte"},
	} {
		got, err := ParseOffload(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q is %+v, %v, written %q; want %+v", text, got, err, got, want)
		}
	}
	for text, want := range map[string]string{
		"gradients,optimizer":               "optimizer+gradients",
		"activations=h.0,optimizer":         "optimizer+activations=h.0",
		"activations=h.0,h.1,parameters":    "parameters+activations=h.0+h.1",
		"activations,optimizer,activations": "optimizer+activations",
	} {
		if got, err := ParseOffload(text); err != nil || got.String() != want {
			t.Errorf("%q is read as %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "optimizer:/x", "all", "optimizer=h.0", "h.0", "optimizer+h.0", "activations=", "activations=*", "none+optimizer", "+"} {
		if got, err := ParseOffload(text); err == nil {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
	trainer := offloadingTrainer(t, DefaultSettings(), false)
	if err := trainer.Change("offload", "activations=h.0+h.9"); err == nil || !strings.Contains(err.Error(), `there is no layer "h.9"`) {
		t.Errorf("of a layer that there is not: %v", err)
	}
}

// hosted are choices of layers that compute on the host.
var hosted = []string{
	"lm_head", "wte", "wte+wpe+lm_head+loss", "h.1", "h.0.mlp.fc+h.2.attn+ln_f", "h+loss", "wte+wpe+h+ln_f+lm_head+loss",
}

// TestLayersOnTheHostChangeNoBit trains with layers on the host from the first step
// on, and in steps 2 and 3.
func TestLayersOnTheHostChangeNoBit(t *testing.T) {
	for name, test := range offloadable {
		t.Run(name, func(t *testing.T) {
			s := DefaultSettings()
			test.change(&s)
			changesNoBit(t, s, test.half, "host", hosted)
		})
	}
}

// TestLayersOnTheHostTakeNothingOfTheDevice compares what is allocated between
// steps, on the device and on its host.
func TestLayersOnTheHostTakeNothingOfTheDevice(t *testing.T) {
	trainer := offloadingTrainer(t, DefaultSettings(), false)
	before := steps(t, trainer, 2)[1]
	set(t, trainer, "host=wte+lm_head+loss")
	during := steps(t, trainer, 2)[1]
	table := trainer.config.Model.Children()[0].Module.Params()[0].Data().Bytes()
	for category, bytes := range map[trace.Category]int64{trace.Parameter: table, trace.Optimizer: 2 * table} {
		if got := before.Memory.Now.Category[category] - during.Memory.Now.Category[category]; got != bytes {
			t.Errorf("%v: %d bytes left the device, want %d", category, got, bytes)
		}
		if got := during.Memory.Host[category]; got != bytes {
			t.Errorf("%v: %d bytes are on the host, want %d", category, got, bytes)
		}
	}
	for _, l := range trainer.Layers() {
		if saves := l.SavedBytes > 0; saves != (strings.HasPrefix(l.Name, "h.") && l.SavedBytes > 0 || l.Name == "ln_f") {
			t.Errorf("layer %s saves %d bytes on the device", l.Name, l.SavedBytes)
		}
		if chosen := slices.Contains([]string{"wte", "lm_head", "loss"}, l.Name); l.OnHost != chosen {
			t.Errorf("layer %s computes on the host: %v", l.Name, l.OnHost)
		}
	}
	set(t, trainer, "host=none")
	if after := steps(t, trainer, 2)[1]; after.Memory != before.Memory {
		t.Errorf("memory before %+v, and after %+v", before.Memory, after.Memory)
	}
}

// TestWhatCrossesIsCounted adds up what goes to layers on the host and what comes
// from them in a step.
func TestWhatCrossesIsCounted(t *testing.T) {
	g := offloading()
	trainer := newBench(t, 64<<20, g).trainer(t, DefaultSettings(), func(c *Config) { c.Build = gpt(g) })
	rows, norm, sum := 8*g.Context, 4, 8
	hidden := 4 * rows * g.Dim // in float32
	for host, want := range map[string]int{
		// Its input and its result with their gradients; the sum of squares comes and goes.
		"h.1": 4*hidden + sum + sum + norm,
		// The numbers of tokens, rows and their gradients, the result of ln_f and its
		// gradient, targets; the loss stays.
		"wte+lm_head+loss": 4*rows + 2*hidden + 2*hidden + 4*rows + sum + sum + norm,
	} {
		set(t, trainer, "host="+host)
		e := steps(t, trainer, 2)[1]
		if got := int(e.ToHost + e.FromHost); got != want {
			t.Errorf("host=%s: a step copied %d bytes, want %d", host, got, want)
		}
		if r := trainer.Report(&e); r.ToHost != e.ToHost || r.FromHost != e.FromHost || e.ToHost == 0 || e.FromHost == 0 {
			t.Errorf("host=%s: %d bytes went to the host and %d came, reported as %d and %d", host, e.ToHost, e.FromHost, r.ToHost, r.FromHost)
		}
	}
}

func TestHostIsReadAsItIsWritten(t *testing.T) {
	for _, text := range []string{"none", "wte", "wte+lm_head+loss"} {
		if got, err := ParseHost(text); err != nil || got.String() != text {
			t.Errorf("%q is written %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "*", "wte+", "+"} {
		if got, err := ParseHost(text); err == nil {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
	trainer := offloadingTrainer(t, DefaultSettings(), false)
	if err := trainer.Change("host", "wte+head"); err == nil || !strings.Contains(err.Error(), `there is no layer "head"`) {
		t.Errorf("of a layer that there is not: %v", err)
	}
}

// TestOffloadedStateFreesItsBytesExactly compares what is allocated between
// steps, on the device and on its host.
func TestOffloadedStateFreesItsBytesExactly(t *testing.T) {
	s := DefaultSettings()
	trainer := offloadingTrainer(t, s, false)
	before := steps(t, trainer, 2)[1]
	state := before.Memory.Now.Category[trace.Optimizer]
	set(t, trainer, "offload=optimizer")
	during := steps(t, trainer, 2)[1]
	if got := during.Memory.Now.Category; got[trace.Optimizer] != 0 || got != trainer.Live() {
		t.Errorf("%v bytes on the device, want %v and no state", got, trainer.Live())
	}
	if got := during.Memory.Host[trace.Optimizer]; got != state {
		t.Errorf("%d bytes of state on the host, want the device's %d", got, state)
	}
	set(t, trainer, "offload=none")
	after := steps(t, trainer, 2)[1]
	if after.Memory != before.Memory {
		t.Errorf("memory before %+v, and after %+v", before.Memory, after.Memory)
	}
}
