package train

import (
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"memtop/engine/collective"
	"memtop/engine/collective/collectivetest"
	"memtop/engine/data"
	"memtop/engine/nn"
)

// together trains in so many ranks of one process, each on its part of batches of 8,
// and returns the events by rank. after, which may be nil, is called between steps.
func together(t *testing.T, ranks, n int, s Settings, g nn.GPTConfig, after func(rank int, of *Trainer, e Event)) [][]Event {
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
				if after != nil {
					after(rank, trainer, e)
				}
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
			if name != "plainly" {
				n = 4
			}
			alone := together(t, 1, n, s, g, nil)[0]
			for _, ranks := range []int{2, 4} {
				if test.shape != nil && ranks > 2 || ranks == 4 && s.Accumulate > 1 {
					continue
				}
				for rank, events := range together(t, ranks, n, s, g, nil) {
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

func TestASettingChangesOnAllRanksAtTheSameStep(t *testing.T) {
	const ranks = 3
	list := together(t, ranks, 6, DefaultSettings(), tiny(), func(rank int, of *Trainer, e Event) {
		if rank == 1 && e.Step == 2 {
			if err := of.Change("checkpoint", "block"); err != nil {
				t.Error(err)
			}
		}
	})
	for rank, events := range list {
		var got []string
		for _, e := range events {
			got = append(got, e.Settings.Checkpoint.String())
		}
		// Step 3 is that in which all hear of it.
		if diff := cmp.Diff([]string{"none", "none", "none", "block", "block", "block"}, got); diff != "" {
			t.Errorf("rank %d (-want +got):\n%s", rank, diff)
		}
	}
}

func TestAllRanksHearThatOneIsToEnd(t *testing.T) {
	heard := make([]int64, 2)
	together(t, 2, 4, DefaultSettings(), tiny(), func(rank int, of *Trainer, e Event) {
		if rank == 1 && e.Step == 1 {
			of.config.Ends = func() bool { return true }
		}
		if of.Ends() && heard[rank] == 0 {
			heard[rank] = e.Step
		}
	})
	if diff := cmp.Diff([]int64{2, 2}, heard); diff != "" {
		t.Errorf("the steps after which ranks heard of it (-want +got):\n%s", diff)
	}
}
