package program

import (
	"fmt"

	"github.com/memtop/memtop/engine/amp"
	"github.com/memtop/memtop/engine/device"
	"github.com/memtop/memtop/engine/nn"
	"github.com/memtop/memtop/engine/train"
	"github.com/memtop/memtop/snapshots/trace"
)

// Formula compares a formula of the literature for a part of the memory with the
// result of the rehearsal.
type Formula struct {
	Of        string `json:"of"`
	Formula   string `json:"formula"`
	Bytes     int64  `json:"bytes"`
	Estimated int64  `json:"estimated_bytes"`
	Source    string `json:"source"`
}

// formulas returns the formulas that apply to the run.
func (v *variant) formulas(e *train.Estimate) []Formula {
	list := []Formula{}
	if f, ok := v.modelStates(e); ok {
		list = append(list, f)
	}
	if f, ok := v.activations(e); ok {
		list = append(list, f)
	}
	return list
}

// modelStates is the formula of the ZeRO paper, with the bytes that a parameter
// has here.
func (v *variant) modelStates(e *train.Estimate) (Formula, bool) {
	rule := v.settings.Optimizer.Kind.Rule()
	size, state := 4.0, 4*float64(rule.Moments())
	if rule.InBytes() || v.settings.Offload != (train.Offload{}) {
		return Formula{}, false // its state is in blocks, or not all of it is on the device
	}
	switch {
	case v.half != "" && v.settings.Optimizer.NoMainCopies:
		size, state = 2, state/2
	case v.half != "":
		size, state = 2, state+4
	}
	part := func(bytes float64, from train.Shard) (string, float64) {
		if v.settings.Shard >= from {
			return fmt.Sprintf("%.0f/%d", bytes, v.ranks), bytes / float64(v.ranks)
		}
		return fmt.Sprintf("%.0f", bytes), bytes
	}
	p, pBytes := part(size, train.ShardParameters)
	g, gBytes := part(size, train.ShardGradients)
	o, oBytes := part(state, train.ShardOptimizer)
	h := &e.Memory.Highest
	return Formula{
		Of: "parameters, gradients and optimizer state", Formula: fmt.Sprintf("(%s + %s + %s) P", p, g, o),
		Bytes:     int64((pBytes + gBytes + oBytes) * float64(e.Parameters)),
		Estimated: h[trace.Parameter] + h[trace.Gradient] + h[trace.Optimizer],
		Source:    "Rajbhandari et al. 2020, section 3",
	}, true
}

// activations is the formula of Korthikanti et al. for the activations of a
// 16-bit transformer with GELU. Here it has no dropout masks, because the engine
// keeps none, and the logits have 16 bits unless their log-softmax is kept.
func (v *variant) activations(e *train.Estimate) (Formula, bool) {
	parts, err := v.settings.Parts(v.batch)
	if err != nil || v.preset.family.name != "gpt" || v.half == "" || v.settings.AMP != amp.Off {
		return Formula{}, false
	}
	s, b, h := float64(v.seq), float64(parts[0]), float64(v.dim)
	logits := 2.0
	if v.settings.LossMemory == nn.PyTorchLoss {
		logits = 4
	}
	var layer string
	sum := 4*h + logits*float64(v.vocab)
	switch v.settings.Checkpoint.String() {
	case "block":
		layer, sum = "2 h", sum+2*h*float64(v.layers)
	case "none":
		layer, sum = "32 h", sum+32*h*float64(v.layers)
		if v.attentionKept() {
			layer, sum = "(32 h + 2 a s)", sum+2*float64(v.heads)*s*float64(v.layers)
		}
	default:
		return Formula{}, false
	}
	return Formula{
		Of: "activations", Formula: fmt.Sprintf("s b (%s L + 4 h + %.0f v)", layer, logits), Bytes: int64(s * b * sum),
		Estimated: e.Memory.Highest[trace.Activation],
		Source:    "Korthikanti et al. 2022, section 4",
	}, true
}

// attentionKept says whether the probabilities of attention are kept.
func (v *variant) attentionKept() bool {
	return v.settings.Attention.Kind(v.seq, v.dim/v.heads) == device.Naive
}
