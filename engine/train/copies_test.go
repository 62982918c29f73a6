package train

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
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
	if testing.Short() {
		t.Skip("it computes much and shares nothing")
	}
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
			if diff := cmp.Diff(losses(want), losses(got)); diff != "" {
				t.Errorf("losses, converted in every step (-), kept (+):\n%s", diff)
			}
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
