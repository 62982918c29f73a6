package train

import (
	"slices"
	"strings"
	"testing"

	"github.com/memtop/memtop/snapshots/trace"
)

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
