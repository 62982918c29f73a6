package train

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
)

func TestResumeContinuesBitForBit(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
	tests := map[string]func(*Settings){
		"adamw":                  func(*Settings) {},
		"sgd, checkpointed":      func(s *Settings) { s.Optimizer, s.Checkpoint = optim.Defaults(optim.SGD), nn.PerBlock() },
		"lion in four parts":     func(s *Settings) { s.Optimizer, s.Accumulate = optim.Defaults(optim.Lion), 4 },
		"eight bits, three by 3": func(s *Settings) { s.Optimizer, s.MicroBatch = optim.Defaults(optim.AdamW8bit), 3 },
		"everything on the host": func(s *Settings) { s.Offload = Offload{true, true, AllLayers, AllLayers} },
		"fp16 with a loss scale": func(s *Settings) { s.AMP = amp.FP16 },
		"a warmed up schedule":   func(s *Settings) { s.Schedule = optim.Schedule{Warmup: 5, Shape: optim.Cosine, Total: 20, Floor: 0.1} },
	}
	g := tiny()
	g.Dropout = 0.1 // random numbers have to go on, too
	g.Dim = 64      // tensors that are large enough for eight bits
	scaler := amp.ScalerOptions{Initial: 1 << 22, Interval: 3}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run")
			s := DefaultSettings()
			change(&s)
			whole := newBench(t, 64<<20, g).trainer(t, s, func(c *Config) { c.Scaler = scaler })
			steps(t, whole, 3)
			save(t, whole, path, map[string]int{"layers": g.Layers})
			want := losses(steps(t, whole, 4))

			saved, err := Open(path)
			fatal.If(t, err)
			defer saved.Close()
			b := newBench(t, 64<<20, g)
			settings, err := saved.Settings(s.Schedule.Total)
			fatal.If(t, err)
			resumed := b.trainer(t, settings, func(c *Config) {
				c.Scaler, c.Batches = scaler, b.loader(t, data.LoaderOptions{Batch: 8, Start: saved.Position(), Workers: 2})
			})
			fatal.If(t, resumed.Resume(saved))
			if diff := cmp.Diff(want, losses(steps(t, resumed, 4))); diff != "" {
				t.Errorf("losses (-whole +resumed):\n%s", diff)
			}
			if resumed.Steps() != 7 || saved.Step() != 3 {
				t.Errorf("%d steps after resuming at %d, want 7 after 3", resumed.Steps(), saved.Step())
			}
			var program map[string]int
			if err := saved.Program(&program); err != nil || program["layers"] != g.Layers {
				t.Errorf("the program's part is %v, %v", program, err)
			}
		})
	}
}

// save saves a run to a file.
func save(t *testing.T, trainer *Trainer, path string, program any) {
	t.Helper()
	f, err := os.Create(path)
	fatal.If(t, err)
	fatal.If(t, trainer.Save(f, program), f.Close())
}

func TestDamagedFilesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	trainer := newBench(t, 64<<20, nn.GPTConfig{Layers: 1, Dim: 8, Heads: 1, Context: 4, Vocab: 256}).trainer(t, DefaultSettings(), nil)
	save(t, trainer, path, nil)
	good, err := os.ReadFile(path)
	fatal.If(t, err)
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	tests := map[string]struct {
		content []byte
		want    string
	}{
		"nothing":                   {nil, "not a saved run"},
		"a text":                    {[]byte("weights are in the other file, sorry"), "not a saved run"},
		"only the header":           {good[:fileHeader], "ends early"},
		"half of it":                {good[:len(good)/2], "checksum"},
		"the last byte is missing":  {good[:len(good)-1], "checksum"},
		"one byte more":             {append(bytes.Clone(good), 0), "checksum"},
		"a bit of the version":      {flip(8), "version"},
		"a bit of the length":       {flip(12), "checksum"},
		"a bit of the description":  {flip(20), "checksum"},
		"a bit of a weight":         {flip(len(good) - 100), "checksum"},
		"a bit of the checksum":     {flip(len(good) - 1), "checksum"},
		"an impossible description": {flip(15), "ends early"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run")
			fatal.If(t, os.WriteFile(path, test.content, 0o600))
			_, err := Open(path)
			var damaged *DamagedError
			if !errors.As(err, &damaged) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got error %q, want one line that says %q", err, test.want)
			}
		})
	}
}

func TestResumeRefusesAnotherModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	save(t, newBench(t, 64<<20, tiny()).trainer(t, DefaultSettings(), nil), path, nil)
	tests := map[string]struct {
		change func(*nn.GPTConfig, *Settings)
		want   string
	}{
		"more layers":       {func(g *nn.GPTConfig, _ *Settings) { g.Layers++ }, "tensors"},
		"another width":     {func(g *nn.GPTConfig, _ *Settings) { g.Dim = 32 }, "wte.weight"},
		"another optimizer": {func(_ *nn.GPTConfig, s *Settings) { s.Optimizer = optim.Defaults(optim.SGD) }, "adamw, not with sgd"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			saved, err := Open(path)
			fatal.If(t, err)
			defer saved.Close()
			g, s := tiny(), DefaultSettings()
			test.change(&g, &s)
			err = newBench(t, 64<<20, g).trainer(t, s, nil).Resume(saved)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one that says %q", err, test.want)
			}
		})
	}
}
