package train

import (
	"context"
	"slices"

	"github.com/memtop/memtop/engine/alloc"
	"github.com/memtop/memtop/engine/autograd"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/recompute"
	"github.com/memtop/memtop/engine/tensor"
)

// # The ways to run blocks
//
// Package recompute finds the layers that are computed again. Its input comes
// from rehearsals: one for each way to run all blocks. A block can be kept, or be
// computed again as a whole or in its larger parts. The bytes are exact; the cost
// of a layer is its [work]. [Plan.Within] rehearses the result before using it.

// blocks returns the ways to run each block of a model: each a list of the layers
// that are computed again.
func blocks(model nn.Module) (list [][][]string) {
	nn.Walk(model, func(path string, m nn.Module) {
		b, ok := m.(*nn.Blocks)
		if !ok {
			return
		}
		for _, child := range b.Children() {
			list = append(list, ways(nn.Join(path, child.Name), child.Module))
		}
	})
	return list
}

// mostParts is how many parts of a block are chosen from.
const mostParts = 3

// asWhole is the way to run a block that computes all of it again.
const asWhole = 1

// ways returns the ways to run a block: kept, as a whole, and every choice of its
// parts that have parts themselves.
func ways(path string, m nn.Module) [][]string {
	var parts []string
	for _, child := range m.Children() {
		if len(child.Module.Children()) > 0 && len(parts) < mostParts {
			parts = append(parts, nn.Join(path, child.Name))
		}
	}
	list := [][]string{nil, {path}}
	for set := 1; set < 1<<len(parts); set++ {
		var way []string
		for i, part := range parts {
			if set&(1<<i) != 0 {
				way = append(way, part)
			}
		}
		list = append(list, way)
	}
	return list
}

// profile holds the memory that a step needs for every way to run its blocks.
type profile struct {
	blocks [][][]string
	levels []levels // by way, of a step whose blocks all run in it, or are kept if they have it not
	layers []nn.Layer
}

// levels are bytes during one step.
type levels struct {
	kept []int64 // by each block, from its run to its backward pass
	peak []int64 // while each block works, and in the end while none does
}

// profile rehearses all ways.
func (p Plan) profile(ctx context.Context) (f profile, err error) {
	p.Settings.Checkpoint = nn.Policy{}
	err = p.unlimited().stage(func(t *Trainer) error {
		f.blocks = blocks(t.config.Model)
		most := 1
		for _, ways := range f.blocks {
			most = max(most, len(ways))
		}
		for way := range most {
			s := p.Settings
			s.Checkpoint = nn.Layers(f.layersOf(way)...)
			if err := t.Set(s); err != nil {
				return err
			}
			l, err := t.levels(ctx, f.blocks)
			if err != nil {
				return err
			}
			if f.levels = append(f.levels, l); way == 0 {
				for _, l := range t.Layers() {
					f.layers = append(f.layers, *l)
				}
			}
		}
		return nil
	})
	return f, err
}

// layersOf returns the layers that are computed again when all blocks that have a
// way run in it.
func (f *profile) layersOf(way int) (names []string) {
	for _, ways := range f.blocks {
		if way < len(ways) {
			names = append(names, ways[way]...)
		}
	}
	return names
}

// problem returns the problem for package recompute, without the limit.
func (f *profile) problem() recompute.Problem {
	last := len(f.blocks)
	p := recompute.Problem{Blocks: make([][]recompute.Choice, last)}
	for way, l := range f.levels {
		before := int64(0)
		for i, ways := range f.blocks {
			if way < len(ways) {
				p.Blocks[i] = append(p.Blocks[i], recompute.Choice{
					Kept: l.kept[i], Need: max(0, l.peak[i]-before), Cost: f.cost(ways[way]),
				})
			}
			before += l.kept[i]
		}
		p.End = max(p.End, l.peak[last]-before)
	}
	return p
}

// cost is the work to compute layers again.
func (f *profile) cost(names []string) (sum int64) {
	for _, name := range names {
		for i := range f.layers {
			if l := &f.layers[i]; Layers(name).has(l.Name) {
				sum += work(l)
			}
		}
	}
	return sum
}

// resultWork is the work for a byte of a result, in multiplications.
const resultWork = 32

// work is a measure of a layer's own forward pass: a multiplication for every
// parameter and row of the result, and some for every byte of it.
func work(l *nn.Layer) int64 {
	rows := l.OutputShape.Size()
	switch n := len(l.OutputShape); {
	case n == 4: // a picture, whose channels come second
		rows /= max(l.OutputShape[1], 1)
	case n > 0:
		rows /= max(l.OutputShape[n-1], 1)
	}
	return l.ParameterBytes/4*int64(rows) + resultWork*l.OutputBytes
}

// policy is a solution as a setting.
func (f *profile) policy(s recompute.Solution) nn.Policy {
	if !slices.ContainsFunc(s.Choices, func(way int) bool { return way != asWhole }) {
		return nn.PerBlock()
	}
	var names []string
	for i, way := range s.Choices {
		names = append(names, f.blocks[i][way]...)
	}
	return nn.Layers(names...)
}

// levels runs steps and returns the levels of the last one. It uses the
// allocator's peak.
func (t *Trainer) levels(ctx context.Context, blocks [][][]string) (levels, error) {
	w := &watch{memory: t.config.Device.Memory(), number: make(map[string]int)}
	for i, ways := range blocks {
		w.number[ways[asWhole][0]] = i
	}
	for range estimatedSteps {
		w.levels = levels{make([]int64, len(blocks)), make([]int64, len(blocks)+1)}
		w.at = 0
		remove := t.hook(w)
		_, err := t.Step(ctx)
		remove()
		if err != nil {
			return levels{}, err
		}
		w.turn(0)
	}
	return w.levels, nil
}

// hook watches the blocks, and no other modules, because a hook on a gradient
// makes it take memory that it does not take otherwise.
func (t *Trainer) hook(w *watch) (remove func()) {
	var list []func()
	t.ctx.Name(t.config.Model, "") // before its parts, which are named from it
	nn.Walk(t.config.Model, func(path string, m nn.Module) {
		if _, ok := w.number[path]; ok {
			list = append(list, t.ctx.AddHooksTo(m, w.hooks()))
		}
	})
	return func() {
		for _, remove := range list {
			remove()
		}
	}
}

// watch notes the levels of a step. At every moment of a step, the kept memory is
// that of the blocks before the current one.
type watch struct {
	levels
	memory *alloc.Allocator
	number map[string]int // of a block, by name
	at     int            // the block of this moment
	begin  int64          // bytes when it began
}

// turn ends the moments of a block and begins those of another one.
func (w *watch) turn(to int) {
	s := w.memory.Stats()
	w.peak[w.at] = max(w.peak[w.at], s.AllocatedBytes.All.Peak)
	w.memory.ResetPeak()
	w.at, w.begin = to, s.Allocated()
}

func (w *watch) hooks() nn.Hooks {
	return nn.Hooks{
		Pre: func(_ *nn.Ctx, l *nn.Layer, _ []*autograd.Value) {
			if i, ok := w.number[l.Name]; ok {
				w.turn(i)
			}
		},
		Post: func(c *nn.Ctx, l *nn.Layer, _ []*autograd.Value, _ *autograd.Value) {
			if i, ok := w.number[l.Name]; ok && c.Phase() == autograd.Forward {
				c.Settle()
				s := w.memory.Stats()
				w.kept[i] = max(w.kept[i], s.Allocated()-w.begin)
				w.turn(i + 1)
			}
		},
		Backward: func(_ *nn.Ctx, l *nn.Layer, _ *tensor.Tensor) {
			if i, ok := w.number[l.Name]; ok {
				w.turn(i)
			}
		},
	}
}
