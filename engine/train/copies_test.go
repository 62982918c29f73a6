package train

import (
	"testing"

	"github.com/memtop/memtop/cmd/testing/cudatest"
	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
	"github.com/memtop/memtop/engine/tensor"
	"github.com/memtop/memtop/snapshots/trace"
)

// copied are runs whose weights are needed in half precision, and whether the
// optimizer writes them so. A run may change between steps.
var copied = map[string]struct {
	settings func(*Settings)
	between  func(t *testing.T, trainer *Trainer, step int)
	stay     bool // all copies after the last step
}{
	"bfloat16":                         {settings: func(s *Settings) { s.AMP = amp.BF16 }, stay: true},
	"float16 that overflows":           {settings: func(s *Settings) { s.AMP = amp.FP16 }, stay: true},
	"parts of a batch":                 {settings: func(s *Settings) { s.AMP, s.Accumulate = amp.BF16, 4 }, stay: true},
	"eight bits":                       {settings: func(s *Settings) { s.AMP, s.Optimizer = amp.BF16, optim.Defaults(optim.AdamW8bit) }, stay: true},
	"descent":                          {settings: func(s *Settings) { s.AMP, s.Optimizer = amp.BF16, optim.Settings{Kind: optim.SGD} }, stay: true},
	"checkpoints":                      {settings: func(s *Settings) { s.AMP, s.Checkpoint = amp.BF16, nn.PerBlock() }},
	"state on the host":                {settings: func(s *Settings) { s.AMP, s.Offload.Optimizer = amp.BF16, true }},
	"gradients on the host":            {settings: func(s *Settings) { s.AMP, s.Offload.Gradients = amp.BF16, true }},
	"without autocast":                 {settings: func(*Settings) {}},
	"another type from step 3 on":      {settings: func(s *Settings) { s.AMP = amp.BF16 }, between: fromStep3("amp=fp16"), stay: true},
	"another optimizer from step 3 on": {settings: func(s *Settings) { s.AMP = amp.BF16 }, between: fromStep3("optimizer=lion"), stay: true},
	"a frozen weight": {
		settings: func(s *Settings) { s.AMP = amp.BF16 },
		between:  func(_ *testing.T, trainer *Trainer, step int) { trainer.parameters[4].SetFrozen(step > 1) },
		stay:     true,
	},
	"a weight written by its owner": {
		settings: func(s *Settings) { s.AMP = amp.BF16 },
		between: func(_ *testing.T, trainer *Trainer, step int) {
			if step == 3 {
				trainer.parameters[0].Data().Fill(0.01)
			}
		},
		stay: true,
	},
}

func fromStep3(change string) func(t *testing.T, trainer *Trainer, step int) {
	return func(t *testing.T, trainer *Trainer, step int) {
		t.Helper()
		if step == 3 {
			set(t, trainer, change)
		}
	}
}

// TestTheOptimizerWritesWhatTheNextStepReads compares runs with ones that convert all
// weights in every step: losses must have the same bits, and no step a higher peak.
func TestTheOptimizerWritesWhatTheNextStepReads(t *testing.T) {
	fatal.IfShort(t)
	for name, test := range copied {
		t.Run(name, func(t *testing.T) {
			run := func(convert bool) (events []Event, trainer *Trainer) {
				s := DefaultSettings()
				test.settings(&s)
				trainer = newBench(t, 64<<20, tiny()).trainer(t, s, func(c *Config) { c.Scaler = amp.ScalerOptions{Initial: 1 << 28} })
				for i := range 6 {
					if test.between != nil {
						test.between(t, trainer, i)
					}
					if convert {
						trainer.ctx.DropCasts()
					}
					events = append(events, steps(t, trainer, 1)...)
				}
				return events, trainer
			}
			want, _ := run(true)
			got, trainer := run(false)
			equal.Values(t, "losses, converted in every step (-), kept (+)", losses(want), losses(got))
			for i := range want {
				w, g := &want[i].Memory, &got[i].Memory
				if g.PeakAllocated > w.PeakAllocated || g.PeakReserved > w.PeakReserved || g.HostReserved > w.HostReserved {
					t.Errorf("step %d takes %d of %d bytes, %d of %d when it converts the weights", i+1,
						g.PeakAllocated, g.PeakReserved, w.PeakAllocated, w.PeakReserved)
				}
			}
			kept := trainer.Live()[trace.Workspace]
			if d := int64(tiny().Dim); test.stay && kept != 2*(4*(12*d*d+9*d)+256*d) {
				t.Errorf("%d bytes of copies are kept", kept)
			}
		})
	}
}

// idle is a GPU whose kernels do nothing, with a model on it, and how much of its work
// waited at each update on the host. Its streams run only when something waits for them.
func idle(t *testing.T, s Settings, build func(nn.Builder) nn.Module) (*Trainer, *cudatest.Driver, *[]int) {
	t.Helper()
	driver := cudatest.New(cudatest.Options{Run: func(cudatest.Launched) error { return nil }})
	machine, err := cuda.Open(cuda.Options{Driver: driver})
	fatal.If(t, err)
	memory, err := alloc.New(machine, alloc.Options{Name: "cuda:0"})
	fatal.If(t, err)
	waits := new([]int)
	d := tensor.NewDevice("cuda:0", memory, watched{machine, driver, waits}, tensor.Options{})
	model, err := nn.Build(d, device.Float32, 1, build)
	fatal.If(t, err)
	set, err := data.NewWindows(data.Corpus(), 16)
	fatal.If(t, err)
	b := &bench{device: d, model: model, set: set}
	t.Cleanup(func() { // after the trainer
		nn.Close(model)
		memory.EmptyCache()
		fatal.If(t, machine.Close())
	})
	return b.trainer(t, s, nil), driver, waits
}

// watched is a GPU whose host notes that.
type watched struct {
	*cuda.Device
	driver *cudatest.Driver
	waits  *[]int
}

func (w watched) OpenHost() (alloc.Driver, device.Backend, error) {
	d, b, err := w.Device.OpenHost()
	return d, besides{b, w.driver, w.waits}, err
}

// besides passes operations on, and notes how much work of the device waits while the
// host updates parameters.
type besides struct {
	device.Backend
	driver *cudatest.Driver
	waits  *[]int
}

func (b besides) Update(p device.UpdatePlan) {
	most := 0
	for _, s := range b.driver.Streams() {
		if s.Kernels > 0 {
			most = max(most, s.Waiting)
		}
	}
	*b.waits = append(*b.waits, most)
	b.Backend.Update(p)
}

// TestCopiesToTheHostRunBesideKernels looks at the streams of a GPU: the bytes that a
// step says to have copied are on a stream without kernels, and the host updates its
// parameters while the device's updates wait to run.
func TestCopiesToTheHostRunBesideKernels(t *testing.T) {
	for name, test := range map[string]struct {
		host    string
		offload Offload
	}{
		"a head on the host":       {host: "lm_head+loss"},
		"a block on the host":      {host: "layers.1"},
		"activations on the host":  {offload: Offload{Activations: AllLayers}},
		"an optimizer on the host": {offload: Offload{Optimizer: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := DefaultSettings()
			s.Host, s.Offload = Layers(test.host), test.offload
			trainer, driver, waits := idle(t, s, func(b nn.Builder) nn.Module {
				return nn.NewLlama(b, nn.LlamaConfig{Layers: 3, Dim: 32, Heads: 2, KVHeads: 2, Hidden: 64, Context: 16, Vocab: 256})
			})
			steps(t, trainer, 2)
			*waits = nil
			copied := func() (toHost, toDevice int64) {
				for _, u := range driver.Streams() {
					if u.Kernels == 0 {
						toHost, toDevice = toHost+u.ToHost, toDevice+u.ToDevice
					}
				}
				return toHost, toDevice
			}
			toHost, toDevice := copied()
			e := steps(t, trainer, 1)[0]
			nowThere, nowHere := copied()
			if nowThere-toHost != e.ToHost || nowHere-toDevice != e.FromHost || e.ToHost == 0 || e.FromHost == 0 {
				t.Errorf("a stream of its own has copied %d bytes to the host and %d from it, the step says %d and %d",
					nowThere-toHost, nowHere-toDevice, e.ToHost, e.FromHost)
			}
			if test.host == "" {
				return
			}
			if len(*waits) == 0 {
				t.Fatal("the host updates no parameters")
			}
			for _, n := range *waits {
				if n == 0 {
					t.Errorf("the host updates parameters when the device has nothing to do: %v pieces of work wait", *waits)
				}
			}
		})
	}
}
