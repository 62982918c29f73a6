package train

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/memtop/memtop/cmd/testing/fatal"
	"github.com/memtop/memtop/engine/data"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/optim"
	"github.com/memtop/memtop/engine/weights"
)

// reference is what PyTorch did, see testdata/reference.py.
type reference struct {
	Layers, Dim, Heads, Context, Vocab, Batch int
	Tokens                                    [][][]int32
	Losses                                    map[string][]float64
}

func readReference(t *testing.T) (r reference) {
	t.Helper()
	text, err := os.ReadFile("testdata/reference.json")
	fatal.If(t, err)
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
