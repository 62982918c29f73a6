package savings

import (
	"fmt"
	"slices"

	"github.com/memtop/memtop/snapshots/quantity"
	"github.com/memtop/memtop/snapshots/trace"
)

func findAttention(s *Scene) (Saving, bool) {
	sizes := make(map[int64]bool)
	for i := range s.Parts {
		if p := &s.Parts[i]; s.of(p)&(softmax|attention|loss) == softmax|attention {
			sizes[p.Size] = true
		}
	}
	// The row sums of a softmax are small beside its scores; a copy in half precision
	// has half their size.
	largest := int64(0)
	for size := range sizes {
		largest = max(largest, size)
	}
	t := s.sum(func(p *Part) bool {
		return s.of(p)&(attention|loss) == attention && (p.Size == largest || 2*p.Size == largest)
	})
	if len(sizes) == 0 || !s.much(t.bytes, 5) {
		return Saving{}, false
	}
	return Saving{
		Bytes: t.bytes, Saved: t.bytes, Stack: t.stack,
		Evidence: fmt.Sprintf("Attention stores all of its scores%s: %s in %s", s.at(t.stack), quantity.Bytes(t.bytes), quantity.Plural(t.count, "block")),
		Remedy:   "fused attention (torch.nn.functional.scaled_dot_product_attention) never stores all of them",
	}, true
}

func findLogits(s *Scene) (Saving, bool) {
	type group struct {
		sum
		size int64
	}
	bySize := make(map[int64]*group)
	for i := range s.Parts {
		p := &s.Parts[i]
		if s.of(p)&(loss|attention) != loss {
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
		return Saving{}, false
	}
	// What backward makes of them has their size, too.
	t := s.sum(func(p *Part) bool {
		return p.Size == best.size && (s.of(p)&(loss|attention) == loss || p.Category == trace.BackwardTemporary)
	})
	if t.count < 2 || !s.much(t.bytes, 5) {
		return Saving{}, false
	}
	return Saving{
		Bytes: t.bytes, Saved: t.bytes / 8 * 7, Stack: best.stack,
		Evidence: fmt.Sprintf("The loss%s has %s of %s, one value for each token and class", s.at(best.stack), quantity.Plural(t.count, "block"), quantity.Bytes(best.size)),
		Remedy:   "computing it for an eighth of the tokens at a time, without keeping the logits, needs an eighth",
	}, true
}

// findStale looks for what a name still holds of the step before.
func findStale(s *Scene) (Saving, bool) {
	stale := func(p *Part) bool {
		return p.Old > 0 && p.Old < p.Count && p.Stack > trace.EmptyStack && (p.Category == trace.Activation || p.Category == trace.Inference)
	}
	var bytes int64
	for i := range s.Parts {
		if p := &s.Parts[i]; stale(p) {
			bytes += p.Size * int64(p.Old)
		}
	}
	if !s.much(bytes, 2) {
		return Saving{}, false
	}
	return Saving{
		Bytes: bytes, Saved: bytes, Stack: s.sum(stale).stack,
		Evidence: fmt.Sprintf("%s of results%s of the previous step are still alive while this step computes them again", quantity.Bytes(bytes), s.at(s.sum(stale).stack)),
		Remedy:   "deleting the variable before the forward pass frees them",
	}, true
}

func findStaleGradients(s *Scene) (Saving, bool) {
	var bytes int64
	underway := s.sum(func(p *Part) bool { return p.Category == trace.BackwardTemporary })
	gradients := func(p *Part) bool { return p.Category == trace.Gradient && p.Old > 0 }
	for i := range s.Parts {
		if p := &s.Parts[i]; gradients(p) {
			bytes += p.Size * int64(p.Old)
		}
	}
	if underway.bytes > 0 || !s.much(bytes, 5) {
		return Saving{}, false
	}
	return Saving{
		Bytes: bytes, Saved: bytes, Stack: s.sum(gradients).stack,
		Evidence: fmt.Sprintf("%s of gradients from before this step are alive during forward", quantity.Bytes(bytes)),
		Remedy:   "unless you accumulate them, zero_grad(set_to_none=True) before the forward pass frees them",
	}, true
}

// findGradientBuffers knows float32 buffers by the weights that they are for, which
// have as many values in half the bytes.
func findGradientBuffers(s *Scene) (Saving, bool) {
	t := s.sum(func(p *Part) bool { return p.Category == trace.Gradient && s.of(p)&flat != 0 })
	weights := s.sum(func(p *Part) bool { return p.Category == trace.Parameter })
	if !s.much(t.bytes, 5) || weights.bytes == 0 || t.bytes < weights.bytes/4*7 {
		return Saving{}, false
	}
	return Saving{
		Bytes: t.bytes, Saved: t.bytes / 2, Stack: t.stack,
		Evidence: fmt.Sprintf("Flat buffers of gradients%s take %s, twice what the weights do", s.at(t.stack), quantity.Bytes(t.bytes)),
		Remedy:   "gradients in the weights' type take half",
	}, true
}

// findInPlace pairs each result with a block of the same size from the line before:
// the same caller, another function.
func findInPlace(s *Scene) (Saving, bool) {
	inputs := make(map[int64]int)
	for i := range s.Parts {
		if p := &s.Parts[i]; p.Category == trace.Activation && s.innermost(p)&inPlace == 0 {
			inputs[p.Size] += p.Count
		}
	}
	var t sum
	for i := range s.Parts {
		p := &s.Parts[i]
		if p.Category != trace.Activation || s.innermost(p)&inPlace == 0 || inputs[p.Size] < p.Count {
			continue
		}
		inputs[p.Size] -= p.Count
		t.add(p)
	}
	if !s.much(t.bytes, 3) {
		return Saving{}, false
	}
	return Saving{
		Bytes: t.bytes, Saved: t.bytes, Stack: t.stack,
		Evidence: fmt.Sprintf("Relu or dropout%s keep %s beside inputs of the same size", s.at(t.stack), quantity.Bytes(t.bytes)),
		Remedy:   "inplace=True lets them reuse the input's memory if nothing else reads it",
	}, true
}

// innermost returns the traits of the innermost Python frames: what was called.
func (s *Scene) innermost(p *Part) trait {
	operation := s.Code.Operation(p.Stack)
	if operation == 0 {
		return 0
	}
	return s.Words.frames[operation]
}

func findWeightCopies(s *Scene) (Saving, bool) {
	weights := make(map[int64]bool)
	for i := range s.Parts {
		if p := &s.Parts[i]; p.Category == trace.Parameter && s.of(p)&autocast == 0 {
			weights[p.Size] = true
		}
	}
	t := s.sum(func(p *Part) bool { return s.of(p)&autocast != 0 && weights[2*p.Size] })
	if !s.much(t.bytes, 3) {
		return Saving{}, false
	}
	return Saving{
		Bytes: t.bytes, Saved: t.bytes, Stack: t.stack,
		Evidence: fmt.Sprintf("Autocast keeps half-precision copies of weights%s: %s in %s", s.at(t.stack), quantity.Bytes(t.bytes), quantity.Plural(t.count, "block")),
		Remedy:   "weights in bfloat16, with float32 copies in the optimizer, need no such copies",
	}, true
}

func findOptimizer(s *Scene) (Saving, bool) {
	t := s.sum(func(p *Part) bool { return p.Category == trace.Optimizer })
	if s.Words.all&eightBit != 0 || !s.much(t.bytes, 15) {
		return Saving{}, false
	}
	return Saving{
		Bytes: t.bytes, Saved: t.bytes / 4 * 3, Stack: t.stack,
		Evidence: fmt.Sprintf("The optimizer's state%s takes %s", s.at(t.stack), quantity.Bytes(t.bytes)),
		Remedy:   "in the host's memory it takes none of the GPU's; stored in 8 bits it takes a quarter",
	}, true
}

func findCheckpointing(s *Scene) (Saving, bool) {
	kept := func(p *Part) bool { return p.Category == trace.Activation }
	t := s.sum(kept)
	layers, input := s.layers(kept)
	if s.Checkpointing || s.Words.all&checkpoint != 0 || !s.trains() || layers == 0 || !s.much(t.bytes, 30) {
		return Saving{}, false
	}
	saving := t.bytes - t.bytes/layers - layers*input
	if saving <= 0 {
		return Saving{}, false
	}
	return Saving{
		Bytes: t.bytes, Saved: saving, Stack: t.stack,
		Evidence: fmt.Sprintf("%d layers keep %s of activations for backward, most%s", layers, quantity.Bytes(t.bytes), s.at(t.stack)),
		Remedy:   "checkpointing each layer keeps only its input, and runs its forward pass twice",
	}, true
}

// layers returns how many layers there are: the number of which most of the memory
// has a multiple of blocks, of each stack and size. It also returns the size that
// most of these have, which stands for a layer's input.
func (s *Scene) layers(fits func(p *Part) bool) (layers, input int64) {
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
			if p.Count%n == 0 {
				bytes += p.Bytes()
			}
		}
		if bytes >= covered {
			best, covered = n, bytes
		}
	}
	stacks := make(map[int64]int)
	for _, p := range kept {
		if best > 0 && p.Count%best == 0 {
			stacks[p.Size]++
			if stacks[p.Size] > stacks[input] || stacks[p.Size] == stacks[input] && p.Size < input {
				input = p.Size
			}
		}
	}
	return int64(best), input
}

// fewestLayers is how often something must be there to be a layer.
const fewestLayers = 4

// counts returns the numbers of blocks that parts have, each once, ascending.
func counts(parts []*Part) []int {
	var all []int
	for _, p := range parts {
		if p.Count >= fewestLayers {
			all = append(all, p.Count)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func findPrecision(s *Scene) (Saving, bool) {
	t := s.sum(func(p *Part) bool {
		switch s.Tables.String(s.Tables.Notes[p.Note].DType) {
		case "f32", "float32":
			return p.Category == trace.Activation
		}
		return false
	})
	if s.Autocast || s.Words.all&autocast != 0 || !s.trains() || !s.much(t.bytes, 30) {
		return Saving{}, false
	}
	return Saving{
		Bytes: t.bytes, Saved: t.bytes / 2, Stack: t.stack,
		Evidence: fmt.Sprintf("%s of activations are float32, most%s", quantity.Bytes(t.bytes), s.at(t.stack)),
		Remedy:   "mixed precision keeps them in two bytes",
	}, true
}
