package train

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/memtop/memtop/cmd/testing/equal"
	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
	"github.com/memtop/memtop/engine/weights"
)

// lossesOf is the losses of n steps with settings, from a fresh model. Dropout is
// on where it may be, so that checkpoints have random numbers to repeat.
func lossesOf(t *testing.T, n int, dropout float64, change func(*Settings)) []float64 {
	t.Helper()
	g := tiny()
	g.Dropout = dropout
	b := newBench(t, 64<<20, g)
	s := DefaultSettings()
	change(&s)
	return losses(steps(t, b.trainer(t, s, nil), n))
}

// compared is how many steps of runs are compared that should be alike: what differs shows
// in the first ones, and MEMTOP_LONG=1 takes more.
func compared() int {
	if os.Getenv("MEMTOP_LONG") != "" {
		return 50
	}
	return 8
}

func TestLossIsTheSameBitsUnderEveryCheckpointPolicy(t *testing.T) {
	fatal.IfShort(t)
	for _, mode := range []amp.Mode{amp.Off, amp.BF16, amp.FP16} {
		want := lossesOf(t, 50, 0.1, func(s *Settings) { s.AMP = mode })
		if !(want[49] < want[0]-0.5) {
			t.Errorf("%v: the loss went from %v to %v: nothing was learned", mode, want[0], want[49])
		}
		for _, policy := range []string{"block", "every=3", "sqrt", "ratio=0.5", "selective", "selective=attention"} {
			t.Run(mode.String()+" "+policy, func(t *testing.T) {
				got := lossesOf(t, compared(), 0.1, func(s *Settings) {
					s.AMP = mode
					s.Checkpoint, _ = nn.ParsePolicy(policy)
				})
				equal.Values(t, fmt.Sprintf("losses with %v", policy), want[:len(got)], got)
			})
		}
	}
}

func TestLossDoesNotDependOnHowABatchIsRun(t *testing.T) {
	fatal.IfShort(t)
	tests := map[string]func(*Settings){
		"two parts":             func(s *Settings) { s.Accumulate = 2 },
		"eight parts":           func(s *Settings) { s.Accumulate = 8 },
		"parts of unequal size": func(s *Settings) { s.MicroBatch = 3 },
		"naive attention":       func(s *Settings) { s.Attention = nn.NaiveAttention },
		"chunked attention":     func(s *Settings) { s.Attention = nn.ChunkedAttention },
		"flash attention":       func(s *Settings) { s.Attention = nn.FlashAttention },
		"all of it, two by two": func(s *Settings) { s.MicroBatch, s.Attention, s.Checkpoint = 2, nn.FlashAttention, nn.SqrtN() },
	}
	want := lossesOf(t, compared(), 0, func(*Settings) {})
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			got, worst := lossesOf(t, compared(), 0, change), 0.0
			for i := range want {
				worst = max(worst, math.Abs(got[i]-want[i]))
			}
			if !(worst <= 1e-4) {
				t.Errorf("losses differ by up to %.2g, more than 1e-4", worst)
			}
		})
	}
}

func TestOverflowSkipsExactlyThoseSteps(t *testing.T) {
	b := newBench(t, 64<<20, tiny())
	s := DefaultSettings()
	s.AMP = amp.FP16
	trainer := b.trainer(t, s, func(c *Config) { c.Scaler = amp.ScalerOptions{Initial: 1 << 30, Interval: 6} })
	before := parameters(b.model)
	skipped := 0
	for i := range 40 {
		scale := 0.0
		if trainer.scaler != nil {
			scale = trainer.scaler.State().Scale
		}
		e := steps(t, trainer, 1)[0]
		after := parameters(b.model)
		if changed := before != after; changed == e.Skipped {
			t.Fatalf("step %d: skipped %v, parameters changed %v", e.Step, e.Skipped, changed)
		}
		if math.IsNaN(e.Loss) || math.IsInf(e.Loss, 0) {
			t.Fatalf("step %d: loss %v", e.Step, e.Loss)
		}
		if now := trainer.scaler.State().Scale; i > 0 && e.Skipped != (now == scale/2) {
			t.Errorf("step %d: skipped %v, and the scale went from %v to %v", e.Step, e.Skipped, scale, now)
		}
		if e.Skipped {
			skipped++
		}
		before = after
	}
	if skipped < 5 || skipped > 30 {
		t.Errorf("%d of 40 steps were skipped: the scale should have been too large for some, not for all", skipped)
	}
	if got := int64(40 - skipped); trainer.optimizer.Steps() != got {
		t.Errorf("the optimizer counts %d steps, want %d", trainer.optimizer.Steps(), got)
	}
}

// parameters is a digest of all parameters.
func parameters(m nn.Module) string {
	digest := sha256.New()
	for _, p := range nn.Params(m) {
		digest.Write(p.Data().Download())
	}
	return string(digest.Sum(nil))
}

func TestLiveBytesAreExactlyWhatTheyShouldBe(t *testing.T) {
	for _, kind := range optim.Kinds() {
		for _, mode := range []amp.Mode{amp.Off, amp.FP16} {
			t.Run(kind.String()+" "+mode.String(), func(t *testing.T) {
				b := newBench(t, 64<<20, tiny())
				s := DefaultSettings()
				s.Optimizer, s.AMP = optim.Defaults(kind), mode
				trainer := b.trainer(t, s, nil)
				for _, e := range steps(t, trainer, 3) {
					equal.Values(t, fmt.Sprintf("step %d", e.Step), trainer.Live(), e.Memory.Now.Category)
					addsUp(t, &e)
				}
			})
		}
	}
}

// addsUp checks that memory is the sum of its parts.
func addsUp(t *testing.T, e *Event) {
	t.Helper()
	sum := int64(0)
	for _, s := range e.Memory.Sources() {
		if s.Bytes < 0 {
			t.Errorf("step %d: %d bytes of %s", e.Step, s.Bytes, s.Name)
		}
		sum += s.Bytes
	}
	if sum != e.Memory.Reserved {
		t.Errorf("step %d: the sources add up to %d bytes, %d are reserved", e.Step, sum, e.Memory.Reserved)
	}
	atPeak := int64(0)
	for _, n := range e.Memory.AtPeak {
		atPeak += n
	}
	if atPeak > e.Memory.PeakAllocated || atPeak < e.Memory.PeakAllocated*8/10 {
		t.Errorf("step %d: categories of %d bytes at a peak of %d", e.Step, atPeak, e.Memory.PeakAllocated)
	}
}

func TestAThousandStepsLeaveNothingBehind(t *testing.T) {
	fatal.IfShort(t)
	b := newBench(t, 64<<20, nn.GPTConfig{Layers: 1, Dim: 8, Heads: 1, Context: 4, Vocab: 256})
	trainer := b.trainer(t, DefaultSettings(), nil)
	first := steps(t, trainer, 1)[0].Memory
	for _, e := range steps(t, trainer, 999) {
		if e.Memory.Allocated != first.Allocated {
			t.Fatalf("step %d: %d bytes allocated, %d after the first step", e.Step, e.Memory.Allocated, first.Allocated)
		}
	}
}

func set(t *testing.T, trainer *Trainer, change string) {
	t.Helper()
	key, value, _ := strings.Cut(change, "=")
	fatal.If(t, trainer.Change(key, value))
}

// reference is what PyTorch did, see testdata/reference.py.
type reference struct {
	Layers, Dim, Heads, Context, Vocab, Batch int
	Tokens                                    [][][]int32
	Losses                                    map[string][]float64
}

func readReference(t *testing.T) (r reference) {
	t.Helper()
	text := fatal.Read(t, "testdata/reference.json")
	fatal.If(t, json.Unmarshal(text, &r))
	return r
}

// recorded are the batches of the reference, in order.
type recorded struct {
	tokens   [][][]int32
	spec     data.Spec
	position int64
}

func (r *recorded) Position() int64 { return r.position }

func (r *recorded) Next(context.Context) (*data.Batch, error) {
	rows := r.tokens[r.position]
	b := data.Empty(r.spec, len(rows))
	at := 0
	for _, row := range rows {
		for i := range row[1:] {
			binary.LittleEndian.PutUint32(b.Input[at:], uint32(row[i]))
			binary.LittleEndian.PutUint32(b.Target[at:], uint32(row[i+1]))
			at += 4
		}
	}
	r.position++
	return b, nil
}

func TestLossesEqualPyTorchs(t *testing.T) {
	fatal.IfShort(t)
	r := readReference(t)
	arrays, err := weights.Read("testdata/weights.pt")
	fatal.If(t, err)
	row := data.Field{Shape: []int{r.Context}, DType: device.Int32}
	spec := data.Spec{Input: row, Target: row, Classes: r.Vocab}
	tests := map[string]func(*Settings){
		"adamw":          func(s *Settings) { s.LR = 0.01 },
		"adam":           func(s *Settings) { s.Optimizer, s.LR = optim.Defaults(optim.Adam), 0.01 },
		"sgd":            func(s *Settings) { s.Optimizer, s.LR = optim.Defaults(optim.SGD), 0.05 },
		"adamw in parts": func(s *Settings) { s.LR, s.MicroBatch, s.Checkpoint = 0.01, 1, nn.PerBlock() },
		"adamw, flash":   func(s *Settings) { s.LR, s.Attention = 0.01, nn.FlashAttention },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 64<<20, nn.GPTConfig{
				Layers: r.Layers, Dim: r.Dim, Heads: r.Heads, Context: r.Context, Vocab: r.Vocab, Bias: true,
			})
			unused, err := weights.Assign(nn.Params(b.model), arrays)
			if err != nil || len(unused) != 1 || unused[0] != "lm_head.weight" {
				t.Fatalf("unused weights %v, error %v; want the head's, which are the embedding's", unused, err)
			}
			s := DefaultSettings()
			change(&s)
			trainer := b.trainer(t, s, func(c *Config) {
				c.Batches, c.Spec, c.Batch = &recorded{tokens: r.Tokens, spec: spec}, spec, r.Batch
			})
			want, worst := r.Losses[s.Optimizer.Kind.String()], 0.0
			for i, loss := range losses(steps(t, trainer, len(want))) {
				worst = max(worst, math.Abs(loss-want[i]))
			}
			t.Logf("%d steps from %.4f to %.4f, off by %.2g at most", len(want), want[0], want[len(want)-1], worst)
			if !(worst <= 1e-4) {
				t.Errorf("the losses are off by %.3g, more than 1e-4", worst)
			}
		})
	}
}
