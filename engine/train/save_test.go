package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
)

func TestResumeContinuesBitForBit(t *testing.T) {
	fatal.IfShort(t)
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
			equal.Values(t, "losses", want, losses(steps(t, resumed, 4)))
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
	good := fatal.Read(t, path)
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
			path := fatal.Write(t, "run", test.content)
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

// craft returns a saved run with another description and the checksum that it needs.
func craft(t testing.TB, whole []byte, change func(description []byte) []byte) []byte {
	t.Helper()
	length := binary.LittleEndian.Uint32(whole[12:])
	description := change(bytes.Clone(whole[fileHeader:][:length]))
	b := append(bytes.Clone(whole[:12]), binary.LittleEndian.AppendUint32(nil, uint32(len(description)))...)
	b = append(append(b, description...), whole[fileHeader+length:len(whole)-fileTrailer]...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// small saves a run and returns the file, and what resumes such a run.
func small(t testing.TB) (whole []byte, resume func(t testing.TB, content []byte) error) {
	t.Helper()
	g := nn.GPTConfig{Layers: 1, Dim: 8, Heads: 1, Context: 4, Vocab: 256}
	var file bytes.Buffer
	fatal.If(t, newBench(t, 64<<20, g).trainer(t, DefaultSettings(), nil).Save(&file, nil))
	return file.Bytes(), func(t testing.TB, content []byte) error {
		t.Helper()
		path := fatal.Write(t, "run", content)
		saved, err := Open(path)
		if err != nil {
			return err
		}
		defer saved.Close()
		if _, err := saved.Settings(8); err != nil {
			return err
		}
		return newBench(t, 64<<20, g).trainer(t, DefaultSettings(), nil).Resume(saved)
	}
}

func TestACraftedRunIsRefused(t *testing.T) {
	whole, resume := small(t)
	fatal.If(t, resume(t, whole))
	for name, test := range map[string]struct{ old, new, want string }{
		"a step before the first":      {`"step":0`, `"step":-1`, "step -1"},
		"a step after all":             {`"step":0`, `"step":9223372036854775807`, "step 9223372036854775807"},
		"batches before the first":     {`"position":0`, `"position":-9`, "position -9"},
		"the optimizer's steps":        {`"optimizer_steps":0`, `"optimizer_steps":-5`, "optimizer_steps -5"},
		"an optimizer there is not":    {`"Kind":0`, `"Kind":200`, "optimizer 200"},
		"a loss scale of nothing":      {`"tensors":`, `"scaler":{"scale":0},"tensors":`, "a loss scale of 0"},
		"good steps there are not":     {`"tensors":`, `"scaler":{"scale":1,"good_steps":-1},"tensors":`, "-1 good steps"},
		"a setting there is not":       {`"amp":"off"`, `"amp":"on"`, `precision "on"`},
		"a tensor of less than none":   {`"bytes":8192}`, `"bytes":-8192}`, "its tensors are not those"},
		"a tensor of all bytes":        {`"bytes":8192}`, `"bytes":9223372036854775807}`, "its tensors are not those"},
		"a tensor of another shape":    {`"shape":[256,8]`, `"shape":[2048]`, "where this model has"},
		"a shape of less than nothing": {`"shape":[256,8]`, `"shape":[-256,-8]`, "where this model has"},
	} {
		t.Run(name, func(t *testing.T) {
			content := craft(t, whole, func(d []byte) []byte {
				if !bytes.Contains(d, []byte(test.old)) {
					t.Fatalf("the description has no %s: %s", test.old, d)
				}
				return bytes.Replace(d, []byte(test.old), []byte(test.new), 1)
			})
			err := resume(t, content)
			if !errors.As(err, new(*DamagedError)) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want a DamagedError that says %q in one line", err, test.want)
			}
		})
	}
}

// FuzzResume changes a number of the description, or its bytes, under a right checksum: the
// run goes on or is refused.
func FuzzResume(f *testing.F) {
	whole, resume := small(f)
	f.Add(uint64(1), []byte("-1"))
	f.Add(uint64(2), []byte("9223372036854775807"))
	f.Add(uint64(3), []byte("1e308"))
	f.Add(uint64(4), []byte("null"))
	f.Fuzz(func(t *testing.T, seed uint64, value []byte) {
		r := rand.New(rand.NewPCG(seed, 0))
		content := craft(t, whole, func(d []byte) []byte { return withOther(r, d, value) })
		if err := resume(t, content); err != nil && !errors.As(err, new(*DamagedError)) {
			t.Errorf("%T %v, want a DamagedError", err, err)
		}
	})
}

// withOther puts a value in the place of one of a description's numbers and texts.
func withOther(r *rand.Rand, description, value []byte) []byte {
	var places [][2]int
	d := json.NewDecoder(bytes.NewReader(description))
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		switch end := int(d.InputOffset()); token := token.(type) {
		case float64:
			places = append(places, [2]int{bytes.LastIndexAny(description[:end], ":,[") + 1, end})
		case string:
			places = append(places, [2]int{end - len(token) - 2, end})
		}
	}
	at := places[r.IntN(len(places))]
	return bytes.Join([][]byte{description[:at[0]], value, description[at[1]:]}, nil)
}
