package analysis

import (
	"fmt"

	"memtop/snapshots/quantity"
	"memtop/snapshots/trace"
)

// advices say what makes a category smaller, when it is at least so many
// percent of the peak.
var advices = [trace.CategoryCount]struct {
	share int64
	noun  string
	how   string
}{
	trace.Gradient:   {40, "Gradients are", "zero_grad(set_to_none=True) before the forward pass, sharding, or lower precision reduce them"},
	trace.Optimizer:  {35, "Optimizer state is", "an 8-bit or factored optimizer, or sharding it, reduces it"},
	trace.Activation: {50, "Activations are", "checkpointing, a smaller micro-batch or mixed precision reduce them"},
}

// advice says what would make the largest part of the peak smaller.
func (f *finder) advice() {
	s := &f.summary
	if !f.index.History() || s.PeakRequested == 0 {
		return
	}
	peak := f.index.peakFacts().categories
	for _, c := range trace.Categories {
		a, bytes := &advices[c], peak[c]
		if share := Percent(bytes, s.PeakRequested); a.how != "" && share >= a.share {
			found := Finding{
				Kind: CategoryFinding, Bytes: bytes, Where: Where{Event: s.PeakEvent},
				Evidence: fmt.Sprintf("%s %s (%d%%) of the peak", a.noun, quantity.Bytes(bytes), share), Remedy: a.how, joint: ": ",
			}
			if f.index.Guessed() {
				found.Evidence, found.Confidence = found.Evidence+", as guessed from stacks", Probable
			}
			f.add(found)
		}
	}
}

// remedy says what helps PyTorch against fragmentation, unless it is on already.
func (x *Index) remedy() string {
	if rules := trace.NewRounding(x.trace.Settings); rules.Expandable || x.kinds[trace.SegmentMap] > 0 || x.trace.Live != nil {
		return ""
	}
	return "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True helps against this"
}
