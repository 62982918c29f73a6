package savings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/memtop/memtop/snapshots/analysis/lines"
	"github.com/memtop/memtop/snapshots/analysis/traits"
	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

// findNoGrad looks for what autograd keeps for a backward pass that does not come.
func findNoGrad(s *Scene) Saving {
	kept := func(p *Part) bool { return p.Unused && s.of(p)&traits.Casts == 0 }
	t, l := s.sum(kept), s.layers(kept)
	least, most := all(kept), all(kept)
	least.Extent, least.Layers, most.Extent = AfterLayer, l.has, AfterNext
	saving := Saving{
		Bytes: t.bytes, Reduction: least, Most: &most, Stack: t.stack,
		Evidence: fmt.Sprintf("Autograd keeps %s of intermediates, most%s, for a backward pass that does not follow", quantity.Bytes(t.bytes), s.at(t.stack)),
		Remedy:   "torch.no_grad() or torch.inference_mode() around the forward pass frees them",
	}
	if s.Unfinished {
		saving.Evidence = fmt.Sprintf("The recording ends before backward: autograd keeps %s of intermediates, most%s", quantity.Bytes(t.bytes), s.at(t.stack))
		saving.Remedy = "if no backward follows, torch.no_grad() or torch.inference_mode() around the forward pass frees them"
	}
	return saving
}

func findAttention(s *Scene) Saving {
	attends := func(p *Part) bool {
		return p.Stack >= 0 && s.Words.attends(p.Stack) || s.of(p)&(traits.Attention|traits.Loss) == traits.Attention
	}
	// The row sums of a softmax are small beside its scores.
	largest := s.largest(func(p *Part) bool { return attends(p) && s.of(p)&traits.Softmax != 0 })
	// Scores are there in four bytes or in two, and in one as a mask. What backward makes of them has their
	// sizes, if nothing else that is kept has.
	sized := func(p *Part) bool {
		return p.Size == largest || 2*p.Size == largest || 4*p.Size == largest && s.Words.attends(max(p.Stack, 0))
	}
	others := s.sum(func(p *Part) bool { return p.Category == trace.Activation && sized(p) && !attends(p) })
	made := s.alike(func(p *Part) bool { return sized(p) && attends(p) })
	scores := func(p *Part) bool {
		return made(p) || sized(p) && (attends(p) || p.Category == trace.BackwardTemporary && others.count == 0 && 4*p.Size != largest)
	}
	t := s.sum(scores)
	return Saving{
		Bytes: t.bytes, Reduction: all(scores), Stack: t.stack,
		Evidence: fmt.Sprintf("Attention stores all of its scores%s: %s in %s", s.at(t.stack), quantity.Bytes(t.bytes), quantity.Plural(t.count, "block")),
		Remedy:   "fused attention (torch.nn.functional.scaled_dot_product_attention) never stores all of them",
	}
}

func findLogits(s *Scene) Saving {
	type group struct {
		sum
		size int64
	}
	bySize := make(map[int64]*group)
	for i := range s.Parts {
		p := &s.Parts[i]
		if s.of(p)&(traits.Loss|traits.Attention) != traits.Loss {
			continue
		}
		g := bySize[p.Size]
		if g == nil {
			g = &group{size: p.Size}
			bySize[p.Size] = g
		}
		g.add(p)
	}
	var best *group
	for _, g := range bySize {
		if best == nil || g.bytes > best.bytes || g.bytes == best.bytes && g.size > best.size {
			best = g
		}
	}
	if best == nil {
		return Saving{}
	}
	// What the loss is given has its size, and so has what backward makes of it while it
	// is there. A copy in half precision has half. Where other activations have that size
	// too, it does not tell.
	sized := func(p *Part) bool { return p.Size == best.size || 2*p.Size == best.size }
	values := s.alike(func(p *Part) bool { return sized(p) && s.of(p)&(traits.Loss|traits.Attention) == traits.Loss })
	forward := func(p *Part) bool {
		return p.Size == best.size && (p.Category == trace.Activation || p.Category == trace.Inference || p.Category == trace.OtherCategory)
	}
	others := s.sum(func(p *Part) bool { return forward(p) && !values(p) })
	blocks := func(p *Part) bool { return values(p) || forward(p) && others.count < 2 }
	made := func(p *Part) bool { return sized(p) && p.Category == trace.BackwardTemporary }
	t := s.sum(func(p *Part) bool { return p.Size == best.size && (blocks(p) || made(p)) })
	reduction := fraction(blocks, 7, 8)
	reduction.Beside = fraction(made, 7, 8).Of
	if t.count < 2 {
		return Saving{}
	}
	return Saving{
		Bytes: t.bytes, Reduction: reduction, Stack: best.stack,
		Evidence: fmt.Sprintf("The loss%s has %s of %s, one value for each token and class", s.at(best.stack), quantity.Plural(t.count, "block"), quantity.Bytes(best.size)),
		Remedy:   "computing it for an eighth of the tokens at a time, without keeping the logits, needs an eighth",
	}
}

// stale returns the parts of which a name still holds what the step before made, and what of all steps is like them.
func (s *Scene) stale() (old, alike func(p *Part) bool) {
	old = func(p *Part) bool {
		return p.Old > 0 && p.Old < p.Count && s.Code.Own(s.Code.Line(p.Stack)) && (p.Category == trace.Activation && !p.Unused || p.Category == trace.Inference)
	}
	return old, s.alike(old)
}

// findStale looks for what a name still holds of the step before.
func findStale(s *Scene) Saving {
	old, alike := s.stale()
	t, bytes := s.old(old)
	reduction := all(alike)
	reduction.Extent = AfterStep
	return Saving{
		Bytes: bytes, Reduction: reduction, Stack: t.stack,
		Evidence: fmt.Sprintf("%s of results%s of the previous step are still alive while this step computes them again", quantity.Bytes(bytes), s.at(t.stack)),
		Remedy:   "deleting the variable before the forward pass frees them",
	}
}

func findStaleGradients(s *Scene) Saving {
	gradients := func(p *Part) bool { return p.Category == trace.Gradient && s.of(p)&traits.Buckets == 0 }
	t, bytes := s.old(gradients)
	reduction := all(gradients)
	reduction.Extent = UntilBackward
	return Saving{
		Bytes: bytes, Reduction: reduction, Stack: t.stack,
		Evidence: fmt.Sprintf("%s of gradients from before this step are alive", quantity.Bytes(bytes)),
		Remedy:   "unless you accumulate them, zero_grad() right after the step frees them",
	}
}

// findBuckets looks for the buckets in which DistributedDataParallel sums gradients, where they
// stand beside the gradients themselves.
func findBuckets(s *Scene) Saving {
	buckets := s.sum(func(p *Part) bool { return p.Category == trace.Communication && s.of(p)&traits.Buckets != 0 })
	copied := func(p *Part) bool {
		return p.Category == trace.Gradient && s.of(p)&(traits.Buckets|traits.GradientBuffers|traits.Flats) == 0
	}
	t := s.sum(copied)
	t.bytes = min(t.bytes, buckets.bytes)
	reduction := all(copied)
	reduction.Keep = s.largest(copied) // a gradient is made before it is copied into its bucket
	return Saving{
		Bytes: t.bytes, Reduction: reduction, Stack: buckets.stack,
		Evidence: fmt.Sprintf("DistributedDataParallel%s holds gradients twice: %s in its buckets, and as much beside them", s.at(buckets.stack), quantity.Bytes(buckets.bytes)),
		Remedy:   "gradient_as_bucket_view=True makes .grad a view of the buckets",
	}
}

// findWeightCopies knows a copy of a weight by its size. Autocast makes one of each
// weight, so of more blocks of one size the others are something else. Weights that
// are trained need copies in float32 instead, which take what is saved.
func findWeightCopies(s *Scene) Saving {
	weights, casts := make(map[int64]int64), make(map[int64]int64)
	for i := range s.Parts {
		switch p := &s.Parts[i]; {
		case s.of(p)&traits.Casts != 0:
			casts[p.Size] += int64(p.Count)
		case p.Category == trace.Parameter:
			weights[p.Size/2] += int64(p.Count)
		}
	}
	copied := func(p *Part) int64 {
		if s.of(p)&traits.Casts == 0 || casts[p.Size] == 0 {
			return 0
		}
		return p.Size * min(weights[p.Size], casts[p.Size]) / casts[p.Size]
	}
	reduction := Reduction{Of: func(p *Part) int64 {
		if p.Category == trace.Parameter && s.of(p)&traits.Casts == 0 {
			return p.Size / 2
		}
		return copied(p)
	}}
	t := s.sum(func(p *Part) bool { return copied(p) > 0 })
	t.bytes = (&Reduction{Of: copied}).sum(s)
	if s.trains() {
		return Saving{}
	}
	return Saving{
		Bytes: t.bytes, Reduction: reduction, Stack: t.stack,
		Evidence: fmt.Sprintf("Autocast keeps half-precision copies of weights%s: %s in %s", s.at(t.stack), quantity.Bytes(t.bytes), quantity.Plural(t.count, "block")),
		Remedy:   "a model that is converted to bfloat16 needs no copies, and half for its weights",
	}
}

func findOptimizer(s *Scene) Saving {
	stays := func(p *Part) bool { return p.Category == trace.Optimizer && !p.Passing }
	// What an optimizer's step makes are the moments. Weights in float32 that are made
	// before it are not stored in 8 bits.
	moments := func(p *Part) bool { return stays(p) && s.of(p)&(traits.BeginsState|traits.Updates) != 0 }
	state := stays
	if s.sum(moments).bytes > 0 {
		state = moments
	}
	t := s.sum(state)
	if s.Words.all&traits.EightBit != 0 {
		return Saving{}
	}
	stored := func(part, of int64) Reduction {
		return Reduction{Of: func(p *Part) int64 {
			if s.foreach(p) {
				return p.Size // such an optimizer has a step of its own
			}
			return fraction(state, part, of).Of(p)
		}}
	}
	const remedy = "in the host's memory it takes none of the GPU's; stored in 8 bits it takes "
	saving := Saving{
		Bytes: t.bytes, Reduction: stored(3, 4), Stack: t.stack,
		Evidence: fmt.Sprintf("The optimizer's state%s takes %s", s.at(t.stack), quantity.Bytes(t.bytes)),
		Remedy:   remedy + "a quarter",
	}
	switch dtype := s.dtype(t.note); {
	case dtype == "" && s.Words.all&(traits.Casts|traits.Autocast) == 0: // with autocast, weights are in float32
		most := saving.Reduction
		saving.Reduction, saving.Most = stored(1, 2), &most
		saving.Remedy += ", or half if it is in 16 now"
	case strings.HasSuffix(dtype, "16"):
		saving.Reduction, saving.Remedy = stored(1, 2), remedy+"half"
	}
	return saving
}

// foreach reports whether a step of PyTorch's makes a part for all weights at once.
func (s *Scene) foreach(p *Part) bool {
	return p.Category == trace.Optimizer && p.Passing && s.of(p)&traits.MultiTensor != 0
}

// findForeach looks for what an optimizer's step makes of all weights at once, which PyTorch's own optimizers
// do where they are not told otherwise.
func findForeach(s *Scene) Saving {
	t := s.sum(s.foreach)
	remedy := "foreach=False makes them of one weight at a time"
	if s.of(&Part{Stack: t.stack})&traits.Fusible != 0 {
		remedy = "fused=True makes none"
	}
	return Saving{
		Bytes: t.bytes, Reduction: all(s.foreach), Stack: t.stack,
		Evidence: fmt.Sprintf("The optimizer's step%s makes %s of temporaries, of all weights at once", s.at(t.stack), quantity.Bytes(t.bytes)),
		Remedy:   remedy,
	}
}

func findCheckpointing(s *Scene) Saving {
	again := s.Words.all & traits.Checkpoints
	l := s.layers(func(p *Part) bool {
		return p.Category == trace.Activation && !p.Unused && s.of(p)&traits.Checkpoints == again
	})
	t := s.sum(l.has)
	if s.Checkpointing || s.Differentiates || !s.trains() || l.many == 0 {
		return Saving{}
	}
	replicas := s.sum(func(p *Part) bool { return p.Category == trace.Parameter && p.Passing && each(p.New(), l.many) > 0 })
	if s.Much(replicas.bytes, 2) {
		return Saving{} // what computes a layer again keeps its weights, for nobody knows how long
	}
	reduction := all(l.has)
	reduction.Extent, reduction.Early, reduction.Many = BetweenPasses, again != 0, l.many
	if again != 0 {
		return Saving{
			Bytes: t.bytes, Reduction: reduction, Stack: t.stack,
			Evidence: fmt.Sprintf("One checkpoint is around %d layers: in backward all that they keep is made again at once, %s, most%s", l.many, quantity.Bytes(t.bytes), s.at(t.stack)),
			Remedy:   "a checkpoint for each layer needs that of one layer, and the inputs of the others",
		}
	}
	return Saving{
		Bytes: t.bytes, Reduction: reduction, Stack: t.stack,
		Evidence: fmt.Sprintf("%d layers keep %s of activations for backward, most%s", l.many, quantity.Bytes(t.bytes), s.at(t.stack)),
		Remedy:   "checkpointing each layer keeps only its input, and runs its forward pass twice",
	}
}

// layers is memory of layers that are alike.
type layers struct {
	many int
	has  func(p *Part) bool
}

// layers returns how many layers there are: the number that most of the memory has of
// blocks, of each stack and size, or a multiple of it. Of the layer that is under way
// some are not there.
func (s *Scene) layers(fits func(p *Part) bool) layers {
	var kept []*Part
	for i := range s.Parts {
		if p := &s.Parts[i]; fits(p) && p.Stack > trace.EmptyStack {
			kept = append(kept, p)
		}
	}
	best, covered := 0, int64(0)
	for _, n := range counts(kept) {
		var bytes int64
		for _, p := range kept {
			if each(p.New(), n) > 0 {
				bytes += p.Bytes()
			}
		}
		if bytes >= covered {
			best, covered = n, bytes
		}
	}
	return layers{many: best, has: s.alike(func(p *Part) bool { return fits(p) && p.Stack > trace.EmptyStack && each(p.New(), best) > 0 })}
}

// each returns how many of some blocks each of the layers has, 0 where they are not
// the layers'. One layer may be under way.
func each(count, layers int) int {
	if layers == 0 || count == 0 {
		return 0
	}
	blocks := (count + layers - 1) / layers
	if count%layers == 0 || blocks*(layers-1) <= count && blocks < layers/2 {
		return blocks
	}
	return 0
}

// fewestLayers is how often something must be there to be a layer.
const fewestLayers = 4

// counts returns the numbers of blocks that parts have, each once, ascending.
func counts(parts []*Part) []int {
	var all []int
	for _, p := range parts {
		if p.New() >= fewestLayers {
			all = append(all, p.New())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// findOffload looks for what autograd keeps for backward: it can wait in the host's memory.
func findOffload(s *Scene) Saving {
	_, named := s.stale() // a name holds it on the device too
	kept := func(p *Part) bool {
		return p.Category == trace.Activation && !p.Unused && s.of(p)&traits.Checkpoints == 0 && !named(p)
	}
	t := s.sum(kept)
	if !s.Much(findCheckpointing(s).Bytes, 30) || lines.IsGo(s.Tables.FrameFile(s.Code.Line(t.stack))) {
		return Saving{}
	}
	reduction := all(s.alike(kept))
	reduction.Extent = BetweenUses
	if s.sum(func(p *Part) bool { return s.of(p)&traits.Casts != 0 }).count == 0 {
		reduction.Keep = s.largest(func(p *Part) bool { return p.Category == trace.Parameter }) // saved weights wait there too, and are copied back
	}
	return Saving{
		Bytes: t.bytes, Reduction: reduction, Stack: t.stack,
		Evidence: fmt.Sprintf("Autograd keeps %s of activations on the device until backward, most%s, and they are no more than layers give to each other: a copy that the program makes itself leaves them there", quantity.Bytes(t.bytes), s.at(t.stack)),
		Remedy:   "with torch.autograd.graph.save_on_cpu() they wait in the host's memory",
	}
}

func findPrecision(s *Scene) Saving {
	single := func(p *Part) bool { return p.Category == trace.Activation && s.dtype(p.Note) == "float32" }
	t := s.sum(single)
	if s.Autocast || s.Words.all&traits.Autocast != 0 || !s.trains() {
		return Saving{}
	}
	return Saving{
		Bytes: t.bytes, Reduction: fraction(single, 1, 2), Stack: t.stack,
		Evidence: fmt.Sprintf("%s of activations are float32, most%s", quantity.Bytes(t.bytes), s.at(t.stack)),
		Remedy:   "mixed precision keeps them in two bytes",
	}
}
