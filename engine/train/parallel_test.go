package train

import (
	"math"
	"sync"
	"testing"

	"memtop/engine/collective"
	"memtop/engine/collective/collectivetest"
	"memtop/engine/data"
	"memtop/engine/nn"
)

// together trains in so many ranks of one process, each on its part of batches of 8,
// and returns the events by rank.
func together(t *testing.T, ranks, n int, s Settings, g nn.GPTConfig) [][]Event {
	t.Helper()
	members := []collective.Group{nil}
	if ranks > 1 {
		members = collectivetest.New(ranks)
	}
	list := make([][]Event, ranks)
	trainers := make([]*Trainer, ranks)
	for rank, member := range members {
		b := newBench(t, 512<<20, g)
		l, err := data.NewLoader(b.set, data.LoaderOptions{Batch: 8 / ranks, Seed: 1, Part: rank, Parts: ranks})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		trainers[rank] = b.trainer(t, s, func(c *Config) {
			c.Batches, c.Batch, c.Group = l, 8/ranks, member
		})
	}
	var all sync.WaitGroup
	for rank, trainer := range trainers {
		all.Go(func() { // a failed step would leave the others waiting: it ends the test
			for range n {
				e, err := trainer.Step(t.Context())
				if err != nil {
					panic(err)
				}
				list[rank] = append(list[rank], e)
			}
		})
	}
	all.Wait()
	return list
}

func TestRanksTrainAsOneProcessDoes(t *testing.T) {
	tests := map[string]struct {
		settings []string
		shape    func(*nn.GPTConfig)
	}{
		"plainly":              {},
		"in parts":             {settings: []string{"accumulate", "2"}},
		"with checkpoints":     {settings: []string{"checkpoint", "block"}},
		"with gradients moved": {settings: []string{"offload", "gradients,optimizer"}},
		"with large gradients": {shape: func(g *nn.GPTConfig) { g.Dim, g.Vocab = 512, 16384 }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := tiny()
			if test.shape != nil {
				g.Layers = 1
				test.shape(&g)
			}
			s := DefaultSettings()
			for i := 0; i < len(test.settings); i += 2 {
				var err error
				if s, err = s.With(test.settings[i], test.settings[i+1]); err != nil {
					t.Fatal(err)
				}
			}
			n := 20
			if test.shape != nil {
				n = 2
			}
			alone := together(t, 1, n, s, g)[0]
			for _, ranks := range []int{2, 4} {
				if test.shape != nil && ranks > 2 || ranks == 4 && s.Accumulate > 1 {
					continue
				}
				for rank, events := range together(t, ranks, n, s, g) {
					for i, e := range events {
						if d := math.Abs(e.Loss - alone[i].Loss); !(d <= 1e-5) {
							t.Fatalf("rank %d of %d, step %d: the loss is %v, of one process %v", rank, ranks, i+1, e.Loss, alone[i].Loss)
						}
						if own := e.Ranks[rank]; len(e.Ranks) != ranks || own.PeakAllocated != e.Memory.PeakAllocated || own.AtPeak != e.Memory.AtPeak {
							t.Fatalf("rank %d of %d is known as %+v, and is %+v", rank, len(e.Ranks), own, e.Memory)
						}
					}
				}
			}
		})
	}
}
